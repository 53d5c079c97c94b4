"""Values of protobuf messages and their Python counterparts: timestamps, free-form JSON, enums, pages."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache, lru_cache
from math import isfinite
from typing import Any, Protocol, TypeVar, overload

from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.options.v1 import options_pb2

from services.chassis.clock import truncate_to_milliseconds
from services.chassis.errors import InvalidArgument, Violation

E = TypeVar("E", bound=Enum)
M = TypeVar("M", bound=Message)

# A quarter of grpc_channel.MAX_MESSAGE_BYTES, because a single message may be large.
PAGE_BYTES = 4 * 1024 * 1024

# Value keeps numbers as doubles: beyond this not every integer is a double.
_MAX_EXACT_INTEGER = 2**53


@overload
def to_timestamp(moment: datetime) -> Timestamp: ...


@overload
def to_timestamp(moment: datetime | None) -> Timestamp | None: ...


def to_timestamp(moment: datetime | None) -> Timestamp | None:
    """The moment, which is aware; None stays None. Equal moments may share one message: copy it, never change it."""
    return None if moment is None else _shared_timestamp(moment)


@lru_cache(maxsize=4096)
def _shared_timestamp(moment: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(moment.astimezone(UTC))
    return message


def to_datetime(timestamp: Timestamp) -> datetime:
    """In UTC, aware.

    Raises:
        ValueError: outside of the years 1 to 9999.
        OverflowError: outside of the years 1 to 9999.
    """
    return timestamp.ToDatetime(tzinfo=UTC)


def read_datetime(message: Message, field: str) -> datetime | None:
    """The timestamp field in UTC, in milliseconds; None when it is not set.

    Raises:
        InvalidArgument: it is not a time; it names the field.
    """
    if not message.HasField(field):
        return None
    try:
        return truncate_to_milliseconds(to_datetime(getattr(message, field)))
    except (ValueError, OverflowError):
        text = "must be a time between the years 1 and 9999"
        raise InvalidArgument(f"{field}: {text}", violations=[Violation(field, text, "value_error")]) from None


def read_optional(message: Message, field: str) -> Any:
    """The value of a field with presence; None when it is not set."""
    return getattr(message, field) if message.HasField(field) else None


def value_to_json(value: Value) -> Any:
    """Free-form JSON; whole numbers become int.

    Raises:
        InvalidArgument: for NaN and infinities.
    """
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        return number_to_json(value.number_value)
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return struct_to_json(value.struct_value)
    return list_to_json(value.list_value) if kind == "list_value" else None


def struct_to_json(struct: Struct) -> dict[str, Any]:
    """A free-form object."""
    return {key: value_to_json(value) for key, value in struct.fields.items()}


def list_to_json(values: ListValue) -> list[Any]:
    """A free-form array."""
    return [value_to_json(value) for value in values.values]


def number_to_json(number: float) -> int | float:
    """An int for a whole number that a double represents exactly.

    Raises:
        InvalidArgument: for NaN and infinities.
    """
    if not isfinite(number):
        raise InvalidArgument("NaN and infinity are not allowed in free-form values", reason="NUMBER_NOT_FINITE")
    return int(number) if number.is_integer() and abs(number) < _MAX_EXACT_INTEGER else number


def json_to_value(json: Any) -> Value:
    """The message of free-form JSON; anything else becomes null."""
    if isinstance(json, str):
        return Value(string_value=json)
    if isinstance(json, bool):
        return Value(bool_value=json)
    if isinstance(json, int | float):
        return Value(number_value=json)
    if isinstance(json, Mapping):
        return Value(struct_value=json_to_struct(json))
    if isinstance(json, Sequence):
        return Value(list_value=ListValue(values=map(json_to_value, json)))
    return Value(null_value=0)  # type: ignore[arg-type]


def json_to_struct(json: Mapping[str, Any]) -> Struct:
    """The message of a free-form object."""
    struct = Struct()
    for key, value in json.items():
        struct.fields[key].CopyFrom(json_to_value(value))
    return struct


@cache
def enum_spellings(enum: EnumDescriptor) -> Mapping[int, str]:
    """The JSON spelling of each value by its number, in the order of the proto; values without one are left out."""
    spelling: Any = options_pb2.spelling
    spelled = {value.number: value.GetOptions().Extensions[spelling] for value in enum.values}
    return {number: text for number, text in spelled.items() if text}


def to_enum_number(wrapper: Any, member: Enum | None) -> Any:
    """The number of the member's namesake in the generated enum `wrapper`; the zero value for None."""
    return 0 if member is None else wrapper.Value(_enum_prefix(wrapper) + member.name)


def to_enum_member(members: type[E], wrapper: Any, number: int) -> E | None:
    """The member of `members` for a number of the generated enum `wrapper`; None for the zero value."""
    return None if number == 0 else members[wrapper.Name(number).removeprefix(_enum_prefix(wrapper))]


@cache
def _enum_prefix(wrapper: Any) -> str:
    zero: str = wrapper.Name(0)
    return zero.removesuffix("UNSPECIFIED")


class PagedRequest(Protocol):
    """A request for a page of a list, its defaults set."""

    @property
    def page(self) -> int: ...
    @property
    def page_size(self) -> int: ...


def page_fields(request: PagedRequest, total: int) -> dict[str, Any]:
    """The fields that every page of a list of `total` items carries."""
    return {
        "total": total,
        "page": request.page,
        "page_size": request.page_size,
        "total_pages": -(-total // request.page_size),
        "has_next": request.page * request.page_size < total,
        "has_previous": request.page > 1,
    }


def take_page(messages: Iterable[M]) -> list[M]:
    """The first messages, up to PAGE_BYTES, but at least one if there are any."""
    page: list[M] = []
    size = 0
    for message in messages:
        size += message.ByteSize()
        if page and size > PAGE_BYTES:
            break
        page.append(message)
    return page
