"""pydantic core schemas of single values, from JSON or from the text of a parameter."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, LiteralString

from google.protobuf.descriptor import FieldDescriptor
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from services.chassis.proto_values import enum_spellings
from services.gateway.contract.fields import Field, FieldRules

_DIGITS = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UUID_LENGTH = 36
_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: ("int32", -(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: ("int64", -(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: ("int32", 0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: ("int64", 0, 2**64 - 1),
}


class _ForbiddenCharacters:
    """A rule about control characters as rules.proto has it, in the syntax of regular expressions."""

    def __init__(self, rule: str, characters: str, message: LiteralString) -> None:
        self.characters = characters
        self._found_in = re.compile(f"[{characters}]").search
        self._error = PydanticCustomError(f"string_{rule}", message)

    def check(self, text: str) -> str:
        if self._found_in(text):
            raise self._error
        return text


_CONTROLS = {
    "single_line": _ForbiddenCharacters(
        "single_line", r"\x00-\x1f\x7f-\x9f", "String should not contain control characters"
    ),
    "multi_line": _ForbiddenCharacters(
        "multi_line",
        r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
        "String should not contain control characters except tabs and line breaks",
    ),
}


def scalar_schema(field: Field, rules: FieldRules, *, text: bool = False) -> CoreSchema:
    """A value of a field that is not a message. It validates to a value that the field accepts.

    JSON values must have the right JSON type. The `text` of a path segment, query parameter or header is converted, and
    enums match in any case.

    Raises:
        TypeError: for bytes and groups, which REST does not have.
    """
    kind = field.descriptor.cpp_type
    if field.descriptor.enum_type is not None:
        spellings = enum_spellings(field.descriptor.enum_type)
        return _choice({spelling: number for number, spelling in spellings.items()}, text=text)
    if rules.choices:
        return _choice({str(choice): choice for choice in rules.choices}, text=False)
    if field.descriptor.type == FieldDescriptor.TYPE_STRING:
        return _uuid() if rules.uuid else _string(field, rules)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return core_schema.bool_schema(strict=not text)
    if kind in _FLOATS:
        return core_schema.float_schema(
            strict=not text, allow_inf_nan=False, metadata=json_schema_updates(format="double")
        )
    if kind in _INTEGERS:
        return _integer(rules, *_INTEGERS[kind], text=text)
    raise TypeError(f"{field.descriptor.full_name}: REST has no fields of this type")


def default_value(field: Field) -> bool | float | str | None:
    """The default that the contract gives to an absent field, as in JSON; None without one."""
    text, kind = field.contract.default_value, field.descriptor.cpp_type
    if not text:
        return None
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return text == "true"
    if kind in _INTEGERS:
        return int(text)
    return float(text) if kind in _FLOATS else text


def json_schema_updates(**updates: Any) -> dict[str, Any]:
    """Metadata of a core schema that adds to its JSON Schema."""
    return {"pydantic_js_updates": updates}


def _string(field: Field, rules: FieldRules) -> CoreSchema:
    updates: dict[str, Any] = {"examples": [example]} if (example := field.contract.example) else {}
    forbidden = next((_CONTROLS[name] for name in _CONTROLS if getattr(rules, name)), None)
    least = rules.min_length or (1 if rules.required else None)
    if forbidden is not None:
        visible = rf"[^\s{forbidden.characters}]" if field.contract.trimmed and least else ""
        allowed = f"[^{forbidden.characters}]*"
        updates["pattern"] = f"^{allowed}{visible}{allowed}$" if visible else f"^{allowed}$"
    text = core_schema.str_schema(
        min_length=least,
        max_length=rules.max_length,
        strip_whitespace=field.contract.trimmed,
        strict=True,
        metadata=json_schema_updates(**updates) if updates else None,
    )
    return text if forbidden is None else core_schema.no_info_after_validator_function(forbidden.check, text)


def _uuid() -> CoreSchema:
    return core_schema.no_info_wrap_validator_function(_canonical_uuid, core_schema.uuid_schema())


def _canonical_uuid(value: Any, validate: core_schema.ValidatorFunctionWrapHandler) -> str:
    """In lower case with hyphens. A UUID in this form is not formatted again, which would take longer than parsing."""
    text = validate(value)
    return value.lower() if len(value) == _UUID_LENGTH else str(text)


def _integer(rules: FieldRules, width: str, low: int, high: int, *, text: bool) -> CoreSchema:
    bounds = {"ge": rules.minimum, "gt": rules.above, "le": rules.maximum, "lt": rules.below}
    if rules.minimum is None and rules.above is None:
        bounds["ge"] = low
    if rules.maximum is None and rules.below is None:
        bounds["le"] = high
    known: Any = {name: bound for name, bound in bounds.items() if bound is not None}
    number = core_schema.int_schema(**known, strict=not text, metadata=json_schema_updates(format=width))
    return core_schema.no_info_before_validator_function(_only_digits if text else _whole_number, number)


def _whole_number(value: Any) -> Any:
    """JSON has one type of numbers: 4.0 is the integer 4."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _only_digits(text: str) -> str:
    """pydantic alone also accepts white space, underscores and "1.0"."""
    if not _DIGITS.fullmatch(text):
        raise PydanticKnownError("int_parsing")
    return text


def _choice(values: Mapping[str, Any], *, text: bool) -> CoreSchema:
    named = {f"VALUE_{number}": value for number, value in enumerate(values)}
    members: Any = Enum("Choice", named)  # type: ignore[misc]
    converted = {member: values[member.value] for member in members}
    schema: CoreSchema = core_schema.enum_schema(members, list(members))
    if text:
        folded = {value.lower(): value for value in values}
        schema = core_schema.no_info_before_validator_function(
            lambda given: folded.get(given.lower(), given) if given.isascii() else given, schema
        )
    return core_schema.no_info_after_validator_function(converted.__getitem__, schema)
