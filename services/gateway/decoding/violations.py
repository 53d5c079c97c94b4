"""Violations of a message's rules, at the places in the HTTP request that the fields came from."""

import re
from collections.abc import Iterable

from services.chassis.errors import Violation
from services.gateway.contract.fields import HeaderField
from services.gateway.decoding.validation_errors import FieldError, Location

_PART = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([^.\[\]]+)')


class FieldLocations:
    """Where the fields of one request come from: the path, headers, and for all others `default`."""

    def __init__(self, default: str, in_path: Iterable[str], headers: Iterable[HeaderField]) -> None:
        self._default = default
        self._special: dict[tuple[str, ...], Location] = {(name,): ("path", name) for name in in_path}
        self._special |= {found.path: ("header", found.name) for found in headers}

    def locate(self, path: str) -> Location:
        """The place of a dotted field path ("test_ids[2]"); the whole body or query when the path is empty."""
        parts = [int(index) if index else key or name for key, index, name in _PART.findall(path)]
        for length in (2, 1):
            place = self._special.get(tuple(str(part) for part in parts[:length]))
            if place is not None:
                return (*place, *parts[length:])
        return (self._default, *parts)

    def field_error(self, violation: Violation) -> FieldError:
        """The violation as a client sees it."""
        kind = violation.type.replace(".", "_") or "value_error"
        return FieldError(self.locate(violation.field), violation.message, kind)
