"""Whatever a request holds, decoding gives a valid message or an error of the decoder."""

import string
from functools import cache

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.chassis.validation import find_violations
from services.gateway.contract.fields import request_fields
from services.gateway.decoding.requests import Source
from services.gateway.decoding.validation_errors import InvalidRequest, MalformedBody
from tests.examples import examples
from tests.unit.gateway.decoding.requests import DECODERS, OPERATIONS, decode

any_text = st.text(st.characters(codec="utf-8"))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def field_names(name: str) -> list[str]:
    return [field.name for field in request_fields(OPERATIONS[name].input)]


any_headers = st.dictionaries(st.sampled_from(["X-CI-PR-Number", "X-CI-Branch", "Last-Event-ID"]), st.text())


@cache
def sources(name: str) -> st.SearchStrategy[Source]:
    names = st.sampled_from([*field_names(name), ""]) | st.text(max_size=5)
    path = st.fixed_dictionaries({field: st.text(min_size=1) for field in OPERATIONS[name].path_fields})
    query = st.text(string.printable, max_size=30) | names.map(lambda n: f"{n}=1&{n}=x")
    body = st.dictionaries(names, json_values, max_size=5) | json_values
    return st.builds(Source, path, query, any_headers, body.map(encoded))


def encoded(body: object) -> bytes:
    return orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS) if fits(body) else repr(body).encode()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@settings(deadline=None, max_examples=examples(30))
@given(data=st.data(), strict=st.booleans())
def test_any_request_gives_a_valid_message_or_an_error_of_the_decoder(
    name: str, data: st.DataObject, strict: bool
) -> None:
    try:
        decoded = DECODERS[name].decode(data.draw(sources(name)), strict=strict)
    except (InvalidRequest, MalformedBody):
        return
    assert find_violations(decoded.message) == []


def fits(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_give_an_error_of_the_decoder(body: bytes) -> None:
    with pytest.raises((InvalidRequest, MalformedBody)):
        decode("CreateApp", body=body)
