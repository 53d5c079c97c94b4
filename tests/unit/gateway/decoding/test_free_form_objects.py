"""Decoding of free-form objects: any JSON that can be stored, within bounds."""

from typing import Any

import pytest

from services.chassis.proto_values import struct_to_json
from tests.unit.gateway.decoding.requests import decode, errors_of


def test_free_form_objects_hold_any_json() -> None:
    metadata = {"a": [1, 2.5, "x", None, True, {"b": {}}], "$where": 1, "a.b": "c", "": ""}
    message = decode("UpdateBuild", body={"metadata": metadata}).message
    assert dict(message.metadata)["$where"] == 1


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (b"1e999", "finite_number"),
        (b"1" + b"0" * 400, "integer_too_large"),
        (b"9007199254740992", "integer_too_large"),
        (b"-9007199254740993", "integer_too_large"),
        (b'{"a\\u0000": 1}', "string_pattern_mismatch"),
    ],
)
def test_free_form_objects_hold_only_what_can_be_stored(text: bytes, type_: str) -> None:
    body = b'{"metadata": {"a": [' + text + b"]}}"
    assert [error[:2] for error in errors_of("UpdateBuild", body=body)] == [(("body", "metadata"), type_)]


@pytest.mark.parametrize("value", [0, 5, -5, 2**53 - 1, 1 - 2**53, 0.5, 1e300])
def test_numbers_in_free_form_objects_come_back_as_they_were(value: float) -> None:
    message: Any = decode("UpdateBuild", body={"metadata": {"n": value}}).message
    decoded = struct_to_json(message.metadata)["n"]
    assert (decoded, type(decoded)) == (value, type(value))


@pytest.mark.parametrize(("wrap", "depth"), [(lambda x: {"a": x}, 40), (lambda x: [x], 60)])
def test_free_form_objects_that_are_too_deep_are_errors(wrap: Any, depth: int) -> None:
    value: object = 1
    for _ in range(depth):
        value = wrap(value)
    assert errors_of("UpdateBuild", body={"metadata": {"x": value}})[0][1] == "too_deep"


@pytest.mark.parametrize(
    "metadata",
    [
        "[" + "1," * 524_000 + "1]",
        "{" + ",".join(f'"k{n}":1' for n in range(30_000)) + "}",
        "[" + "[]," * 30_000 + "1]",
    ],
    ids=["numbers", "fields", "lists"],
)
def test_a_body_with_too_many_values_is_an_error(metadata: str) -> None:
    body = f'{{"metadata": {{"a": {metadata}}}}}'.encode()
    assert [error[:2] for error in errors_of("UpdateBuild", body=body)] == [(("body",), "too_long")]


def test_commas_in_a_text_do_not_separate_values() -> None:
    message: Any = decode("UpdateBuild", body={"metadata": {"a": "[," * 100_000}}).message
    assert struct_to_json(message.metadata) == {"a": "[," * 100_000}


def test_a_body_may_have_as_many_values_as_a_test() -> None:
    message: Any = decode("UpdateBuild", body={"metadata": {"a": [1] * 20_000}}).message
    assert struct_to_json(message.metadata) == {"a": [1] * 20_000}


def test_deepest_valid_object_can_be_serialized_and_parsed() -> None:
    value: object = 1
    for _ in range(25):
        value = {"a": value}
    message = decode("UpdateBuild", body={"metadata": value}).message
    assert type(message).FromString(message.SerializeToString()) == message
