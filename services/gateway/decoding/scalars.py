"""One value of a field: from the text of a query, path or header, and from JSON."""

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from services.gateway.contract.fields import Field, enum_spellings
from services.gateway.decoding import validation_errors
from services.gateway.decoding.numbers import RANGES, in_range, integer_from_json, integer_from_text
from services.gateway.decoding.validation_errors import Refused

FromText = Callable[[str], Any]
FromJson = Callable[[object], Any]

_FLOATS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def from_text(field: Field) -> FromText:
    """A reader of query, path and header values; it raises Refused. TypeError for a field that text cannot fill."""
    kind = field.descriptor.type
    if kind == FieldDescriptor.TYPE_STRING:
        return _text_lowered if field.rules.uuid else _text
    if kind == FieldDescriptor.TYPE_ENUM:
        return _enum_reader(field, folded=True)
    if kind == FieldDescriptor.TYPE_BOOL:
        return _boolean_from_text
    if kind in _FLOATS:
        return _float_from_text
    if kind in RANGES:
        check = in_range(field)
        return lambda text: check(integer_from_text(text))
    raise TypeError(f"{field.descriptor.full_name} cannot be read from text")


def from_json(field: Field) -> FromJson:
    """A reader of JSON values; it raises Refused. TypeError for a field that is no scalar."""
    kind = field.descriptor.type
    if kind == FieldDescriptor.TYPE_STRING:
        return _string_lowered if _holds_uuids(field) else _string
    if kind == FieldDescriptor.TYPE_ENUM:
        return _enum_reader(field, folded=False)
    if kind == FieldDescriptor.TYPE_BOOL:
        return _boolean
    if kind in _FLOATS:
        return _float
    if kind in RANGES:
        check = in_range(field)
        return lambda value: check(integer_from_json(value))
    raise TypeError(f"{field.descriptor.full_name} is no scalar that JSON can fill")


def _holds_uuids(field: Field) -> bool:
    items = field.rules.items
    return field.rules.uuid or (items is not None and items.uuid)


def _text(text: str) -> str:
    """Bytes that are no UTF-8 arrive from the HTTP parser as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(validation_errors.NOT_UNICODE) from None
    return text


def _text_lowered(text: str) -> str:
    return _text(text).lower()


def _string(value: object) -> str:
    if type(value) is not str:
        raise Refused(validation_errors.STRING)
    return value


def _string_lowered(value: object) -> str:
    return _string(value).lower()


def _boolean_from_text(text: str) -> bool:
    found = _BOOLEANS.get(text.lower())
    if found is None:
        raise Refused(validation_errors.BOOLEAN_TEXT)
    return found


def _boolean(value: object) -> bool:
    if type(value) is not bool:
        raise Refused(validation_errors.BOOLEAN)
    return value


def _float_from_text(text: str) -> float:
    try:
        number = float(text) if text.isascii() and text == text.strip() and "_" not in text else None
    except ValueError:
        number = None
    if number is None or number - number != 0:
        raise Refused(validation_errors.NUMBER_TEXT)
    return number


def _float(value: object) -> float:
    if type(value) is int or type(value) is float:
        return float(value)
    raise Refused(validation_errors.NUMBER)


def _enum_reader(field: Field, *, folded: bool) -> Callable[[Any], int]:
    enum = field.descriptor.enum_type
    if enum is None:
        raise TypeError(f"{field.descriptor.full_name} is no enum")
    spelt = enum_spellings(enum)
    known = spelt.by_folded if folded else spelt.by_text
    refusal = validation_errors.one_of(spelt.texts)

    def read(value: Any) -> int:
        number = known.get(value.casefold() if folded else value) if type(value) is str else None
        if number is None:
            raise Refused(refusal)
        return number

    return read
