"""Violations of a message's rules, back to the place in the HTTP request that the field came from."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from google.protobuf.message import Message

from services.chassis.errors import Violation
from services.gateway.contract.fields import Field, rest_fields
from services.gateway.decoding.rule_types import BrokenRule, refusal
from services.gateway.decoding.validation_errors import FieldError, Location

Given = Callable[[Location], bool]
"""Whether the request has a value at this place."""

_PART = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([^.\[\]]+)')


class FieldLocations:
    """Where the fields of one operation's request come from; what is not named comes from `default`."""

    def __init__(self, default: str, special: Mapping[tuple[str, ...], Location]) -> None:
        """`special`: ("app_id",) -> ("path", "app_id"), ("ci", "pr_number") -> ("header", "x-ci-pr-number")."""
        self._default = default
        self._special = special

    def locate(self, path: str) -> Location:
        """The place of a dotted field path; the whole body or query when the path is empty."""
        parts = _parts(path)
        for length in (2, 1):
            place = self._special.get(tuple(str(part) for part in parts[:length]))
            if place is not None:
                return (*place, *parts[length:])
        return (self._default, *parts)

    def field_errors(self, found: Iterable[Violation], request: Message, given: Given) -> list[FieldError]:
        """The violations as the client shall see them."""
        return [self._issue(violation, request, given) for violation in found]

    def _issue(self, violation: Violation, request: Message, given: Given) -> FieldError:
        loc = self.locate(violation.field)
        found = _field_and_value(request, _parts(violation.field))
        broken = BrokenRule(*found, given=given(loc)) if found else None
        return refusal(violation.type, violation.message, broken).at(loc)


def _parts(path: str) -> list[str | int]:
    return [int(index) if index else key or name for key, index, name in _PART.findall(path)]


def _field_and_value(message: Any, parts: list[str | int]) -> tuple[Field, object] | None:
    """The field that a path ends in, and its value; None for a path that is not the message's own."""
    field: Field | None = None
    value: Any = message
    for part in parts:
        if isinstance(part, int):
            if part >= len(value):
                return None
            value = value[part]
            continue
        known = {field.name: field for field in rest_fields(value.DESCRIPTOR)} if isinstance(value, Message) else {}
        if part not in known:
            return None
        field, value = known[part], getattr(value, part)
    return (field, value) if field is not None else None
