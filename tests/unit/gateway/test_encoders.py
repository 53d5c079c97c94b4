"""Encoding of messages, compared with json_format."""

import asyncio
from typing import Any

import orjson
import pytest
from google.protobuf import json_format, timestamp_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from mobiletest.catalog.v1 import apps_pb2, builds_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.proto_values import enum_spellings
from services.gateway.contract.fields import rest_fields
from services.gateway.encoders import (
    ToJson,
    encoder,
    is_texts,
    item_encoder,
    parts_encoder,
    response_encoder,
    timestamp_to_json,
)
from tests.examples import examples
from tests.unit.gateway.strategies import RESPONSES, response_messages


def ours(message: Message) -> Any:
    return orjson.loads(orjson.dumps(encoder(message.DESCRIPTOR)(message)))


def sent(encode: ToJson, message: Message) -> Any:
    return orjson.loads(asyncio.run(encode(message)))


def read(message: Message) -> Any:
    descriptor: Any = message.DESCRIPTOR
    parts = asyncio.run(parts_encoder(descriptor)(message))
    return {name: [*map(orjson.loads, part)] if is_texts(part) else part for name, part in parts.items()}


def theirs(message: Message) -> Any:
    """json_format, with the intended differences: our spellings, no internal fields, nulls, numbers for int64."""
    plain = json_format.MessageToDict(message, preserving_proto_field_name=True, use_integers_for_enums=True)
    descriptor: Any = message.DESCRIPTOR
    return complete(plain, descriptor)


def complete(plain: Any, descriptor: Descriptor) -> dict[str, Any]:
    shown = [
        field for field in rest_fields(descriptor) if field.name in plain or not field.contract.omitted_when_absent
    ]
    return {field.name: converted(plain.get(field.name), field.descriptor, field) for field in shown}


def converted(value: Any, field: FieldDescriptor, known: Any) -> Any:
    if known.repeated:
        return None if known.contract.null_when_empty and not value else [one(item, field) for item in value or []]
    if value is None:
        absent = field.has_presence or field.message_type is not None or field.enum_type is not None
        return None if absent else field.default_value
    return one(value, field)


def one(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None and not field.message_type.full_name.startswith("google."):
        return complete(value, field.message_type)
    if field.enum_type is not None:
        return enum_spellings(field.enum_type).get(value)
    if field.cpp_type == FieldDescriptor.CPPTYPE_INT64:
        return int(value)
    return value


@pytest.mark.parametrize(("name", "descriptor"), RESPONSES)
@settings(deadline=None, max_examples=examples(25))
@given(data=st.data())
def test_encoders_agree_with_json_format(name: str, descriptor: Descriptor, data: st.DataObject) -> None:
    """Items twice, because the second comes from the cache."""
    message = data.draw(response_messages(descriptor))
    expected = theirs(message)
    assert ours(message) == expected, name
    for make in (response_encoder, item_encoder, item_encoder):
        assert sent(make(descriptor), message) == expected, name
    assert read(message) == expected, name


def test_empty_app_has_every_key_but_internal_ones() -> None:
    encoded = ours(apps_pb2.App(revision=7))
    assert list(encoded) == [field.name for field in apps_pb2.App.DESCRIPTOR.fields if field.name != "revision"]
    assert set(encoded.values()) == {None}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.25Z", "2026-01-02T03:04:05.250Z"),
        ("2026-01-02T03:04:05.0009Z", "2026-01-02T03:04:05Z"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_timestamps_are_utc_with_milliseconds_unless_zero(text: str, shown: str) -> None:
    timestamp = timestamp_pb2.Timestamp()
    timestamp.FromJsonString(text)
    assert timestamp_to_json(timestamp) == shown


@pytest.mark.parametrize("number", [0, 5, -3, 2**53 - 1, 2.5, 1e300])
def test_whole_numbers_in_free_form_json_stay_integers(number: float) -> None:
    build = builds_pb2.Build()
    build.metadata.fields["n"].number_value = number
    text = orjson.dumps(encoder(build.DESCRIPTOR)(build)["metadata"])
    assert orjson.loads(text) == {"n": number}
    if isinstance(number, int):
        assert text == b'{"n":%d}' % number


def test_changed_message_is_not_answered_from_the_cache() -> None:
    descriptor: Any = apps_pb2.App.DESCRIPTOR
    encode = item_encoder(descriptor)
    app = apps_pb2.App(name="old")
    assert sent(encode, app)["name"] == "old"
    app.name = "new"
    assert sent(encode, app)["name"] == "new"


async def test_others_have_turns_while_a_long_list_is_encoded() -> None:
    descriptor: Any = reports_pb2.AppCoverage.DESCRIPTOR
    items = [reports_pb2.CoverageItem(test_id=str(number)) for number in range(5_000)]
    encoding = asyncio.create_task(response_encoder(descriptor)(reports_pb2.AppCoverage(items=items)))
    turns = 0
    while not encoding.done():
        await asyncio.sleep(0)
        turns += 1
    assert [item["test_id"] for item in orjson.loads(encoding.result())["items"]] == [item.test_id for item in items]
    assert turns > 3


def test_message_types_that_json_cannot_show_are_refused() -> None:
    with pytest.raises(TypeError):
        encoder(builds_pb2.UploadBuildRequest.DESCRIPTOR)
