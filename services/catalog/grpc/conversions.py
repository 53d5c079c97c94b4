"""Times, free-form JSON, update masks and pages, as the protos have them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.types.v1 import platform_pb2

from services.catalog.model.values import Json, Page, Platform
from services.chassis.clock import truncate_to_milliseconds
from services.chassis.errors import InvalidArgument, Violation


class Paged(Protocol):
    """A request for a page; its defaults have been set."""

    @property
    def page(self) -> int: ...
    @property
    def page_size(self) -> int: ...


def page_of(request: Paged) -> Page:
    """The page that the request asks for."""
    return Page(request.page, request.page_size)


def envelope(page: Page, total: int) -> dict[str, Any]:
    """The fields that every page of a list carries."""
    return {
        "total": total,
        "page": page.number,
        "page_size": page.size,
        "total_pages": -(-total // page.size),
        "has_next": page.number * page.size < total,
        "has_previous": page.number > 1,
    }


def timestamp(moment: datetime | None) -> Timestamp | None:
    """The moment as a message; None stays None."""
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def moment(message: Message, field: str) -> datetime | None:
    """The field as an aware UTC time in milliseconds; None when it is not set. InvalidArgument: no calendar has it."""
    if not message.HasField(field):
        return None
    stamp: Timestamp = getattr(message, field)
    try:
        return truncate_to_milliseconds(stamp.ToDatetime(tzinfo=UTC))
    except (ValueError, OverflowError):
        text = "must be a time between the years 1 and 9999"
        raise InvalidArgument(f"{field}: {text}", violations=[Violation(field, text, "value_error")]) from None


def json_of(value: Value) -> Json:
    """Free-form JSON; whole numbers are integers again. InvalidArgument for NaN and infinities."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return mapping_of(value.struct_value)
    if kind == "list_value":
        return [json_of(each) for each in value.list_value.values]
    if kind == "number_value":
        return _number(value.number_value)
    if kind is None or kind == "null_value":
        return None
    content: str | bool = getattr(value, kind)
    return content


def mapping_of(struct: Struct) -> dict[str, Json]:
    """A free-form object."""
    return {key: json_of(value) for key, value in struct.fields.items()}


def value_of(json: Any) -> Value:
    """The message of free-form JSON."""
    if isinstance(json, Mapping):
        return Value(struct_value=struct_of(json))
    if isinstance(json, list | tuple):
        return Value(list_value=ListValue(values=map(value_of, json)))
    if isinstance(json, bool):
        return Value(bool_value=json)
    if isinstance(json, int | float):
        return Value(number_value=json)
    return Value(string_value=json) if isinstance(json, str) else Value(null_value=0)  # type: ignore[arg-type]


def struct_of(json: Mapping[str, Any]) -> Struct:
    """The message of a free-form object."""
    struct = Struct()
    for key, value in json.items():
        struct.fields[key].CopyFrom(value_of(value))
    return struct


def named_fields(request: Message, paths: Iterable[str], known: Iterable[str]) -> list[str]:
    """The fields that an update changes: those of its mask, without one those that are set. InvalidArgument."""
    known, asked = list(known), list(paths)
    unknown = [path for path in asked if path not in known]
    if unknown:
        message = f"{unknown[0]} cannot be updated"
        raise InvalidArgument(message, violations=[Violation("update_mask", message, "unknown_field")])
    if asked:
        return asked
    present = {descriptor.name for descriptor, _ in request.ListFields()}
    return [name for name in known if name in present]


def optional(message: Message, field: str) -> Any:
    """The value of a field with presence; None when it is not set."""
    return getattr(message, field) if message.HasField(field) else None


def _number(number: float) -> int | float:
    if number != number or number in (float("inf"), float("-inf")):
        raise InvalidArgument("NaN and infinity are not allowed in free-form values", reason="NUMBER_NOT_FINITE")
    return int(number) if number.is_integer() else number


_NUMBERS = {Platform.IOS: platform_pb2.PLATFORM_IOS, Platform.ANDROID: platform_pb2.PLATFORM_ANDROID}
_PLATFORMS = {number: platform for platform, number in _NUMBERS.items()}


def platform_number(platform: Platform | None) -> platform_pb2.Platform:
    """The number of the platform; None is unspecified."""
    return _NUMBERS[platform] if platform is not None else platform_pb2.PLATFORM_UNSPECIFIED


def platform_set(platform: Platform | None) -> platform_pb2.Platform | None:
    """The number for an optional field; None leaves it unset."""
    return _NUMBERS[platform] if platform is not None else None


def platform(number: platform_pb2.Platform) -> Platform | None:
    """The platform of the number; unspecified is None."""
    return _PLATFORMS.get(number)
