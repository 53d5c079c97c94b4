"""One operation's decoder: path, query, headers and body in, a valid request message out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import orjson
from google.protobuf.message import Message

from services.chassis.errors import Violation
from services.chassis.validation import find_violations
from services.gateway.contract.fields import Field, mask_field, request_fields
from services.gateway.contract.operations import Operation
from services.gateway.decoding import validation_errors
from services.gateway.decoding.bodies import object_reader
from services.gateway.decoding.parameters import HeaderReader, QueryReader, TextField
from services.gateway.decoding.scalars import from_text
from services.gateway.decoding.validation_errors import (
    FieldError,
    Findings,
    IgnoredField,
    InvalidRequest,
    Location,
    MalformedBody,
)
from services.gateway.decoding.violations import FieldLocations

_NO_BODY: dict[str, object] = {}


@dataclass(frozen=True, slots=True)
class Source:
    """What a client sent. `path` maps names in the template to decoded segments; `query` is raw; no body is None."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request message that keeps its rules, and what was ignored on the way."""

    message: Message
    ignored: tuple[str, ...] = ()


class RequestDecoder:
    """Compiled for one type of request. `decode` raises InvalidRequest or MalformedBody and nothing else."""

    def __init__(self, request: type[Message], path_fields: Iterable[str], *, takes_body: bool) -> None:
        input_type: Any = request.DESCRIPTOR
        known = request_fields(input_type)
        in_path = set(path_fields)
        from_elsewhere = [f for f in known if f.name not in in_path and not f.header and not f.from_headers]
        self._request = request
        self._path = [TextField(f.name, ("path", f.name), from_text(f)) for f in known if f.name in in_path]
        self._headers = HeaderReader(known)
        self._takes_body = takes_body
        self._query = QueryReader([] if takes_body else from_elsewhere)
        self._body = object_reader(tuple(from_elsewhere)) if takes_body else object_reader(())
        self._mask = mask_field(input_type)
        self._body_names = frozenset(f.name for f in from_elsewhere)
        self._places = _places(known, in_path, "body" if takes_body else "query")

    @classmethod
    def of(cls, operation: Operation) -> "RequestDecoder":
        """The decoder of an operation."""
        return cls(operation.request, operation.path_fields, takes_body=operation.takes_body)

    def decode(self, source: Source, *, strict: bool = False) -> Decoded:
        """The message that the request means. With `strict`, what would be ignored is an issue."""
        message, findings = self._request(), Findings()
        for path_field in self._path:
            path_field.fill(message, source.path[path_field.name], findings)
        if source.query:
            self._query.read(message, source.query, findings)
        self._headers.read(message, source.headers, findings)
        body = self._read_body(message, source.body, findings) if self._takes_body else _NO_BODY
        field_errors = self._issues(message, findings, source, body)
        if strict:
            field_errors += [_not_permitted(ignored) for ignored in findings.ignored]
        if field_errors:
            raise InvalidRequest(field_errors)
        return Decoded(message, tuple(ignored.path for ignored in findings.ignored))

    def explain(self, violations: Iterable[Violation], decoded: Decoded) -> list[FieldError]:
        """Violations that the service found in a message of ours, as the client shall see them."""
        return self._places.field_errors(violations, decoded.message, lambda _: True)

    def _read_body(self, message: Message, text: bytes | None, findings: Findings) -> object:
        value = parse_json(text or b"")
        self._body.read(message, value, ("body",), findings)
        if self._mask is not None and isinstance(value, dict):
            getattr(message, self._mask).paths.extend(name for name in value if name in self._body_names)
        return value

    def _issues(self, message: Message, findings: Findings, source: Source, body: object) -> list[FieldError]:
        """All errors at once: what could not be read, and what breaks a rule among the rest."""
        violations = find_violations(message)
        if not violations:
            return findings.field_errors
        refused = {issue.loc for issue in findings.field_errors}
        broken = self._places.field_errors(violations, message, lambda loc: _given(loc, source, body))
        return [*findings.field_errors, *(issue for issue in broken if not _within(issue.loc, refused))]


def _places(known: tuple[Field, ...], in_path: set[str], default: str) -> FieldLocations:
    special: dict[tuple[str, ...], Location] = {(name,): ("path", name) for name in in_path}
    for text in HeaderReader(known).fields.values():
        special[(text.parent, text.name) if text.parent else (text.name,)] = text.loc
    return FieldLocations(default, special)


def _within(loc: Location, refused: set[Location]) -> bool:
    return any(loc[:length] in refused for length in range(1, len(loc) + 1))


def _given(loc: Location, source: Source, body: object) -> bool:
    place, *rest = loc
    if place != "body":
        return place == "path" or place == "header" or f"{rest[0]}=" in source.query
    value = body
    for part in rest:
        try:
            value = value[part]  # type: ignore[index]
        except (LookupError, TypeError):
            return False
    return True


def _not_permitted(ignored: IgnoredField) -> FieldError:
    name = str(ignored.loc[-1])
    nearest = get_close_matches(name, ignored.known, n=1, cutoff=0.6) if len(name) < 100 else []
    return validation_errors.unknown_field(nearest).at(ignored.loc)


def parse_json(body: bytes) -> object:
    """The value in a body; an empty one means {}. MalformedBody says where the text stops being JSON.

    orjson bounds the depth (1,024) and refuses lone surrogates and numbers that are infinite.
    """
    if not body or body.isspace():
        return {}
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise MalformedBody(f"The body is not valid JSON: {error.msg} at {place}") from None
