"""JSON objects into messages: one reader per message type, compiled once."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from services.gateway.contract.fields import Field, request_fields
from services.gateway.decoding import free_form, scalars, validation_errors
from services.gateway.decoding.validation_errors import Findings, Location, Refused

Read = Callable[[Any, object, Location, Findings], None]
"""(message to fill, JSON value of one field, place of the message, findings)"""

_FILLERS: dict[str, Callable[[Any, object], None]] = {
    "google.protobuf.Struct": free_form.fill_struct,
    "google.protobuf.ListValue": free_form.fill_list,
    "google.protobuf.Value": free_form.fill_value,
    "google.protobuf.Timestamp": free_form.fill_timestamp,
}
_VALUE = "google.protobuf.Value"


class ObjectReader:
    """Reads a JSON object into a message of one type."""

    def __init__(self, fields: Mapping[str, Read]) -> None:
        self._fields = fields

    def read(self, message: Message, value: object, loc: Location, findings: Findings) -> None:
        """Fill `message`. What is wrong or unknown goes to `findings`; nothing is raised."""
        if type(value) is not dict:
            findings.refuse(loc, validation_errors.MODEL)
            return
        fields = self._fields
        for key, item in value.items():
            read = fields.get(key)
            if read is None:
                findings.ignore((*loc, key), fields)
            else:
                read(message, item, loc, findings)


def object_reader(fields: tuple[Field, ...]) -> ObjectReader:
    """A reader for these fields of a message."""
    return ObjectReader({field.name: _reader(field) for field in fields})


@cache
def _nested(message: Descriptor) -> ObjectReader:
    return object_reader(request_fields(message))


def _reader(field: Field) -> Read:
    is_map = field.message is not None and field.message.GetOptions().map_entry
    if is_map or field.descriptor.type == FieldDescriptor.TYPE_GROUP:
        raise TypeError(f"{field.descriptor.full_name}: maps and groups are not supported in requests")
    if field.repeated:
        return _list_reader(field)
    if field.message is None:
        return _scalar_reader(field)
    if field.message.full_name in _FILLERS:
        return _filled_reader(field, _FILLERS[field.message.full_name])
    return _message_reader(field, _nested(field.message))


def _scalar_reader(field: Field) -> Read:
    name, nullable, convert = field.name, field.nullable, scalars.from_json(field)

    def read(message: Any, value: object, loc: Location, findings: Findings) -> None:
        if value is None and nullable:
            return
        try:
            setattr(message, name, convert(value))
        except Refused as refused:
            findings.refuse((*loc, name), refused.refusal)

    return read


def _filled_reader(field: Field, fill: Callable[[Any, object], None]) -> Read:
    name, nullable = field.name, field.nullable and field.message is not None and field.message.full_name != _VALUE

    def read(message: Any, value: object, loc: Location, findings: Findings) -> None:
        if value is None and nullable:
            return
        try:
            fill(getattr(message, name), value)
        except Refused as refused:
            findings.refuse((*loc, name), refused.refusal)

    return read


def _message_reader(field: Field, reader: ObjectReader) -> Read:
    name, nullable = field.name, field.nullable

    def read(message: Any, value: object, loc: Location, findings: Findings) -> None:
        if value is None and nullable:
            return
        inner = getattr(message, name)
        inner.SetInParent()
        reader.read(inner, value, (*loc, name), findings)

    return read


def _list_reader(field: Field) -> Read:
    name, add = field.name, _adder(field)

    def read(message: Any, value: object, loc: Location, findings: Findings) -> None:
        if type(value) is not list:
            findings.refuse((*loc, name), validation_errors.LIST)
            return
        container = getattr(message, name)
        for index, item in enumerate(value):
            add(container, item, (*loc, name, index), findings)

    return read


def _adder(field: Field) -> Read:
    """Reads one item of a list into its container."""
    if field.message is None:
        return _scalar_adder(scalars.from_json(field))
    fill = _FILLERS.get(field.message.full_name)
    if fill is not None:
        return _filled_adder(fill)
    reader = _nested(field.message)
    return lambda container, item, loc, findings: reader.read(container.add(), item, loc, findings)


def _scalar_adder(convert: scalars.FromJson) -> Read:
    def add(container: Any, item: object, loc: Location, findings: Findings) -> None:
        try:
            container.append(convert(item))
        except Refused as refused:
            findings.refuse(loc, refused.refusal)

    return add


def _filled_adder(fill: Callable[[Any, object], None]) -> Read:
    def add(container: Any, item: object, loc: Location, findings: Findings) -> None:
        try:
            fill(container.add(), item)
        except Refused as refused:
            findings.refuse(loc, refused.refusal)

    return add
