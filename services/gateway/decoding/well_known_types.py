"""pydantic core schemas of protobuf's well-known types: free-form JSON and timestamps."""

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

MAX_DOUBLE = sys.float_info.max
MAX_INTEGER = 2**53 - 1
# In levels of protobuf messages. Parsers stop at 100; the rest is for the messages around the value.
DEPTH_LIMIT = 80
_OBJECT_LEVELS, _LIST_LEVELS = 3, 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_MIN_SECONDS, _MAX_SECONDS = -62135596800, 253402300799  # the years 1 to 9999, as protobuf has them


def well_known_schema(message: Descriptor) -> CoreSchema | None:
    """The schema of a well-known type; it validates to a message. None for other messages."""
    return _SCHEMAS.get(message.full_name)


def _to_struct(value: dict[str, Any]) -> Struct:
    struct = Struct()
    _fill_object(struct, value, DEPTH_LIMIT)
    return struct


def _to_list(value: list[Any]) -> ListValue:
    values = ListValue()
    _fill_array(values, value, DEPTH_LIMIT)
    return values


def _to_value(value: object) -> Value:
    target = Value()
    _fill(target, value, DEPTH_LIMIT)
    return target


def _fill(target: Value, value: object, levels: int) -> None:
    """Convert in one pass with the checks: at most `levels`, only numbers that a double holds, no NUL in a key."""
    if value is None:
        target.null_value = 0  # type: ignore[assignment]
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int | float):
        target.number_value = _check_number(value)
    elif isinstance(value, dict):
        target.struct_value.SetInParent()
        _fill_object(target.struct_value, value, levels)
    elif isinstance(value, list):
        target.list_value.SetInParent()
        _fill_array(target.list_value, value, levels)


def _fill_object(struct: Struct, value: dict[str, object], levels: int) -> None:
    left = _descend(levels, _OBJECT_LEVELS)
    for key, item in value.items():
        if "\0" in key:
            raise PydanticCustomError("string_pattern_mismatch", "Keys should not contain the character NUL")
        _fill(struct.fields[key], item, left)


def _fill_array(values: ListValue, value: list[object], levels: int) -> None:
    left = _descend(levels, _LIST_LEVELS)
    for item in value:
        _fill(values.values.add(), item, left)


def _descend(levels: int, by: int) -> int:
    if levels < by:
        raise PydanticCustomError("too_deep", "Input is nested too deeply")
    return levels - by


def _check_number(number: float) -> float:
    """Integers that might come back as others are refused: a double holds every one up to 2^53 - 1."""
    if isinstance(number, int) and abs(number) > MAX_INTEGER:
        message = f"Integers should be between -{MAX_INTEGER} and {MAX_INTEGER}; send a larger one as a string"
        raise PydanticCustomError("integer_too_large", message)
    if -MAX_DOUBLE <= number <= MAX_DOUBLE:
        return number
    raise PydanticKnownError("finite_number")


def _to_timestamp(text: str) -> Timestamp:
    """A point in time in RFC 3339 with an offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _invalid_timestamp("use the form 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        raise PydanticKnownError("timezone_aware")
    since = moment - _EPOCH
    seconds = since // _SECOND
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        raise _invalid_timestamp("the year is outside 1 to 9999")
    return Timestamp(seconds=seconds, nanos=since.microseconds * 1000)


def _invalid_timestamp(reason: str) -> PydanticKnownError:
    return PydanticKnownError("datetime_parsing", {"error": reason})


_after = core_schema.no_info_after_validator_function
_SCHEMAS: dict[str, CoreSchema] = {
    "google.protobuf.Struct": _after(_to_struct, core_schema.dict_schema(strict=True)),
    "google.protobuf.ListValue": _after(_to_list, core_schema.list_schema(strict=True)),
    "google.protobuf.Value": _after(_to_value, core_schema.any_schema()),
    "google.protobuf.Timestamp": _after(
        _to_timestamp,
        core_schema.str_schema(strict=True),
        metadata={"pydantic_js_updates": {"format": "date-time"}},
    ),
}
