"""Responses as JSON: field names as in the protos, null for absent fields (some are omitted), enums by their spelling.

An encoder copies a template with the default of every field, then writes the fields that ListFields returns, which are
the ones that are set. This takes half the time of reading each field. The JSON of list items is cached by their bytes,
which determine it, and lists of a response are encoded in slices that let other requests have their turns.
"""

from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, NamedTuple

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from services.chassis.proto_values import enum_spellings, list_to_json, struct_to_json, value_to_json
from services.chassis.turns import list_in_turns
from services.gateway.contract.fields import Field, rest_fields

# From the value of a set field to a value that orjson takes.
Encode = Callable[[Any], Any]

ToJson = Callable[[Any], Coroutine[Any, Any, bytes]]
ToValues = Callable[[Any], Coroutine[Any, Any, dict[str, Any]]]

CACHED_ITEMS = 4096
# Larger items are not cached: the cache of a message type stays below about 50 MB.
CACHED_ITEM_BYTES = 4096
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (all times here are UTC, and the text gets its Z by hand)
_NOT_IN_JSON = (FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_GROUP)


def timestamp_to_json(value: Timestamp) -> str:
    """RFC 3339 in UTC, with milliseconds unless they are zero: 2026-01-31T12:00:00.250Z."""
    moment = _EPOCH + timedelta(seconds=value.seconds, milliseconds=value.nanos // 1_000_000)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds") + "Z"


_WELL_KNOWN: dict[str, Encode] = {
    "google.protobuf.Timestamp": timestamp_to_json,
    "google.protobuf.Struct": struct_to_json,
    "google.protobuf.ListValue": list_to_json,
    "google.protobuf.Value": value_to_json,
}


@cache
def encoder(message: Descriptor) -> Encode:
    """The encoder of a message type to a dict.

    Raises:
        TypeError: for a type with fields that JSON cannot show.
    """
    return compile_encoder(message, list_encoder)


def compile_encoder(message: Descriptor, repeated: Callable[[Encode, Descriptor], Encode]) -> Encode:
    """As `encoder`; `repeated` makes the encoder of a repeated field from the encoder of one item and its type."""
    fields = rest_fields(message)
    template = {field.name: _absent(field) for field in fields if not field.contract.omitted_when_absent}
    known = {field.descriptor: (field.name, _field_encoder(field, repeated)) for field in fields}
    find = known.get

    def encode(value: Message) -> dict[str, Any]:
        out = template.copy()
        for descriptor, content in value.ListFields():
            value_encoder = find(descriptor)
            if value_encoder is not None:
                name, convert = value_encoder
                out[name] = content if convert is None else convert(content)
        return out

    return encode


def list_encoder(item: Encode, _: Descriptor) -> Encode:
    """The encoder of a list."""
    return lambda items: [item(one) for one in items]


def _absent(field: Field) -> Any:
    if field.null_when_absent:
        return None
    return [] if field.repeated else field.descriptor.default_value


def _field_encoder(field: Field, repeated: Callable[[Encode, Descriptor], Encode]) -> Encode | None:
    """How a set value of the field is encoded; None: as it is."""
    if field.descriptor.type in _NOT_IN_JSON or (field.message is not None and field.message.GetOptions().map_entry):
        raise TypeError(f"{field.descriptor.full_name}: JSON does not show bytes, maps and groups")
    if field.message is not None:
        item = _WELL_KNOWN.get(field.message.full_name) or encoder(field.message)
        return repeated(item, field.message) if field.repeated else item
    if field.descriptor.enum_type is not None:
        spell = enum_spellings(field.descriptor.enum_type).get
        return (lambda numbers: [spell(number) for number in numbers]) if field.repeated else spell
    return list if field.repeated else None


@cache
def text_encoder(message: Descriptor) -> Callable[[Message], bytes]:
    """As `encoder`, to JSON, with that of the most recently used messages."""
    encode, make = encoder(message), GetMessageClass(message)

    def to_text(value: Message) -> bytes:
        return orjson.dumps(encode(value))

    @lru_cache(CACHED_ITEMS)
    def to_cached_text(raw: bytes) -> bytes:
        return to_text(make.FromString(raw))

    def encode_cached(value: Message) -> bytes:
        raw = value.SerializeToString()
        return to_cached_text(raw) if len(raw) <= CACHED_ITEM_BYTES else to_text(value)

    return encode_cached


class _Items(NamedTuple):
    """The items of a list that are still to be encoded."""

    encode: Callable[[Message], bytes]
    items: Any


@cache
def parts_encoder(message: Descriptor) -> ToValues:
    """An encoder for responses of this type to what their JSON has; each item of a list of messages as JSON."""
    encode = compile_encoder(message, _items_encoder)

    async def to_parts(response: Any) -> dict[str, Any]:
        values: dict[str, Any] = encode(response)
        for name, value in values.items():
            if isinstance(value, _Items):
                values[name] = await list_in_turns(map(value.encode, value.items))
        return values

    return to_parts


def is_texts(value: Any) -> bool:
    """Whether a value that `parts_encoder` made is a list of JSON."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], bytes)


def response_encoder(message: Descriptor) -> ToJson:
    """An encoder for responses of this type; their repeated messages are cached."""
    to_parts = parts_encoder(message)

    async def to_json(response: Any) -> bytes:
        parts = await to_parts(response)
        return orjson.dumps(
            {name: [*map(orjson.Fragment, value)] if is_texts(value) else value for name, value in parts.items()}
        )

    return to_json


def item_encoder(message: Descriptor) -> ToJson:
    """An encoder for single messages of a type that lists hold too."""
    encode = text_encoder(message)

    async def to_json(response: Any) -> bytes:
        return encode(response)

    return to_json


def _items_encoder(item: Encode, message: Descriptor) -> Encode:
    if message.full_name in _WELL_KNOWN:
        return list_encoder(item, message)
    encode = text_encoder(message)
    return lambda items: _Items(encode, items)
