"""The JSON of single values: points in time and free-form JSON."""

from datetime import datetime, timedelta
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (all arithmetic here is UTC; the text gets its Z by hand)
_EXACT = 2**53


def timestamp(value: Timestamp) -> str:
    """RFC 3339 in UTC with Z, with milliseconds when there are any: 2026-01-31T12:00:00.250Z."""
    moment = _EPOCH + timedelta(seconds=value.seconds, milliseconds=value.nanos // 1_000_000)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds") + "Z"


def struct(value: Struct) -> dict[str, Any]:
    return {key: free_form(item) for key, item in value.fields.items()}


def list_value(value: ListValue) -> list[Any]:
    return [free_form(item) for item in value.values]


def free_form(value: Value) -> Any:
    """Any JSON value; a whole number reads as one although protobuf keeps it as a double."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        return _number(value.number_value)
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return struct(value.struct_value)
    return list_value(value.list_value) if kind == "list_value" else None


def _number(number: float) -> int | float:
    return int(number) if number.is_integer() and abs(number) < _EXACT else number
