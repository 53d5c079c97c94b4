"""Free-form JSON (Struct, Value, ListValue), and points in time."""

from datetime import UTC, datetime, timedelta

from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from services.gateway.decoding import validation_errors
from services.gateway.decoding.validation_errors import Refused

DEPTH_LIMIT = 80
"""In levels of protobuf messages, of which its parsers take 100; the rest is for what the value is wrapped in."""
_OBJECT_LEVELS, _LIST_LEVELS = 3, 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fill_struct(struct: Struct, value: object) -> None:
    """Replace the content of `struct` with a JSON object; Refused for anything else."""
    if type(value) is not dict:
        raise Refused(validation_errors.OBJECT)
    struct.Clear()
    struct.SetInParent()
    _fill_object(struct, value, DEPTH_LIMIT)


def fill_list(values: ListValue, value: object) -> None:
    """Replace the content of `values` with a JSON array; Refused for anything else."""
    if type(value) is not list:
        raise Refused(validation_errors.LIST)
    values.Clear()
    values.SetInParent()
    _fill_array(values, value, DEPTH_LIMIT)


def fill_value(target: Value, value: object) -> None:
    """Set `target` to any JSON value."""
    _fill(target, value, DEPTH_LIMIT)


def _fill(target: Value, value: object, levels: int) -> None:
    if value is None:
        target.null_value = 0  # type: ignore[assignment]
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int | float):
        target.number_value = value
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
            raise Refused(validation_errors.NUL_IN_KEY)
        _fill(struct.fields[key], item, left)


def _fill_array(values: ListValue, value: list[object], levels: int) -> None:
    left = _descend(levels, _LIST_LEVELS)
    for item in value:
        _fill(values.values.add(), item, left)


def _descend(levels: int, by: int) -> int:
    if levels < by:
        raise Refused(validation_errors.TOO_DEEP)
    return levels - by


def fill_timestamp(timestamp: Timestamp, value: object) -> None:
    """Set `timestamp` from an RFC 3339 text with an offset; Refused for anything else."""
    if type(value) is not str:
        raise Refused(validation_errors.MOMENT)
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise Refused(validation_errors.NO_ZONE)
        since = moment - _EPOCH
    except (ValueError, OverflowError):
        raise Refused(validation_errors.MOMENT) from None
    timestamp.seconds, timestamp.nanos = since // timedelta(seconds=1), since.microseconds * 1000
    if not 0 <= timestamp.seconds + 62135596800 < 315537897600:
        raise Refused(validation_errors.MOMENT)
