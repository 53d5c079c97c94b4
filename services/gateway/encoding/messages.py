"""Messages as JSON objects: names as in the protos, null for what is absent, enums as they are spelled.

An encoder copies a template that has every field at its default and overwrites what ListFields gives, which is what is
set: half the cost of asking the message for each field.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from services.gateway.contract.fields import Field, enum_spellings, rest_fields
from services.gateway.encoding import values

Encode = Callable[[Any], Any]
"""A set value to what orjson takes."""

_WELL_KNOWN: dict[str, Encode] = {
    "google.protobuf.Timestamp": values.timestamp,
    "google.protobuf.Struct": values.struct,
    "google.protobuf.ListValue": values.list_value,
    "google.protobuf.Value": values.free_form,
}
_BYTES = (FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_GROUP)


@cache
def encoder(message: Descriptor) -> Encode:
    """The encoder of a message type to a dict; TypeError for a type with fields that JSON cannot show."""
    return compile_encoder(message, list_of)


def compile_encoder(message: Descriptor, repeated: Callable[[Encode, Descriptor], Encode]) -> Encode:
    """As `encoder`; `repeated` makes the encoder of repeated messages from that of one and its type."""
    template = {field.name: _absent(field) for field in rest_fields(message)}
    known = {field.descriptor: (field.name, _encode_field(field, repeated)) for field in rest_fields(message)}
    find = known.get

    def encode(value: Message) -> dict[str, Any]:
        out = template.copy()
        for descriptor, content in value.ListFields():
            found = find(descriptor)
            if found is not None:
                name, convert = found
                out[name] = content if convert is None else convert(content)
        return out

    return encode


def list_of(one: Encode, _: Descriptor) -> Encode:
    """The encoder of a list."""
    return lambda items: [one(item) for item in items]


def _absent(field: Field) -> Any:
    if field.repeated:
        return []
    if field.presence or field.message is not None or field.descriptor.enum_type is not None:
        return None
    return field.descriptor.default_value


def _encode_field(field: Field, repeated: Callable[[Encode, Descriptor], Encode]) -> Encode | None:
    """How a set value of the field is encoded; None: as it is."""
    if field.descriptor.type in _BYTES or (field.message is not None and field.message.GetOptions().map_entry):
        raise TypeError(f"{field.descriptor.full_name}: JSON does not show bytes, maps and groups")
    if field.message is not None:
        one = _WELL_KNOWN.get(field.message.full_name) or encoder(field.message)
        return repeated(one, field.message) if field.repeated else one
    if field.descriptor.enum_type is not None:
        spell = enum_spellings(field.descriptor.enum_type).by_number.get
        return (lambda numbers: [spell(number) for number in numbers]) if field.repeated else spell
    return list if field.repeated else None
