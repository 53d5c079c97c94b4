"""Whole numbers: their ranges, and how they are read."""

import re
from collections.abc import Callable

from google.protobuf.descriptor import FieldDescriptor

from services.gateway.contract.fields import Field
from services.gateway.decoding import validation_errors
from services.gateway.decoding.validation_errors import Refused

_DIGITS = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MOST_DIGITS = 25
_INT32 = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32)
_INT64 = (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64)
_UINT32 = (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32)
_UINT64 = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
RANGES = {
    **dict.fromkeys(_INT32, (-(2**31), 2**31 - 1)),
    **dict.fromkeys(_INT64, (-(2**63), 2**63 - 1)),
    **dict.fromkeys(_UINT32, (0, 2**32 - 1)),
    **dict.fromkeys(_UINT64, (0, 2**64 - 1)),
}


def integer_from_text(text: str) -> int:
    """Digits with an optional sign and nothing else; a number of any length."""
    if not _DIGITS.fullmatch(text):
        raise Refused(validation_errors.INTEGER_TEXT)
    return int(text[: _MOST_DIGITS + 1])


def integer_from_json(value: object) -> int:
    """A JSON number without fraction or exponent; true is none. orjson gives what is beyond 64 bits as a float."""
    if type(value) is int:
        return value
    if type(value) is float and abs(value) >= 2**63:
        return int(value)
    raise Refused(validation_errors.INTEGER)


def in_range(field: Field) -> Callable[[int], int]:
    """Refuses what the field's type cannot hold, in terms of the field's own bounds where it has some.

    Numbers that the type can hold are left to the rules.
    """
    low, high = RANGES[field.descriptor.type]
    least = low if field.rules.minimum is None else field.rules.minimum
    most = high if field.rules.maximum is None else field.rules.maximum

    def check(number: int) -> int:
        if low <= number <= high:
            return number
        raise Refused(validation_errors.at_least(least) if number < low else validation_errors.at_most(most))

    return check
