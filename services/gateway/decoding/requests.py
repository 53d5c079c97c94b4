"""Decoding of HTTP requests into valid request messages."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf.message import Message
from pydantic_core import SchemaValidator, ValidationError, from_json

from services.chassis.errors import Violation
from services.gateway.contract.fields import RequestFields, mask_field, request_fields, rest_fields
from services.gateway.contract.operations import Operation
from services.gateway.decoding.core_schemas import request_schema
from services.gateway.decoding.validation_errors import (
    MAX_ERRORS,
    FieldError,
    InvalidRequest,
    Location,
    MalformedBody,
    unknown_choice,
    unknown_field,
)

MAX_IGNORED = 100
# With more unknown and invalid fields a request is rejected at once: listing them takes 5 µs each.
MAX_COUNTED = 5000
# JSON values of one body: more than a test may have, and few enough to be converted in 40 ms.
VALUES_LIMIT = 25_000
_ATTRIBUTION = ("x-ci-", "x-service-")
_UNKNOWN = "extra_forbidden"
# How alike an unknown name and a known one are that are taken for the same.
_MISSPELT = 0.8
_PATH_PART = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([^.\[\]]+)', re.ASCII)
_CHOICES = frozenset(
    (
        *("app", "apk", "ipa", "package", "bundle", "build", "version", "platform", "os", "ios", "android"),
        *("test", "suite", "flow", "workflow", "tag", "shard", "env", "variable"),
        *("branch", "commit", "sha", "device", "emulator", "simulator"),
    )
)
_NAMES = frozenset(("runs", "runids", "failed", "onlyfailed"))
_MANNERS = frozenset(("timeout", "retry", "retries", "wait", "delay", "seconds", "interval"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENDING = re.compile(r"(?:ids?|names?|s)$")
# Characters of a name that are read; a longer one is no name.
_READ = 200


@dataclass(frozen=True, slots=True)
class Source:
    """An HTTP request. `path` maps names in the template to decoded segments; `query` is raw, or its parameters.

    `body` is JSON text, or the fields of a form; None without a body.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    query: str | dict[str, str] = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A valid request message, and the names of ignored fields and headers: "run_config.retriess", "x-ci-colour"."""

    message: Message
    ignored: tuple[str, ...] = ()


class RequestDecoder:
    """Decodes the requests of one operation.

    Raises:
        InvalidRequest: by `decode`, which raises nothing else but MalformedBody.
        MalformedBody: by `decode`.
    """

    def __init__(
        self,
        request: type[Message],
        path_fields: Iterable[str],
        *,
        takes_body: bool,
        echoed: frozenset[str] | None = None,
    ) -> None:
        """`echoed`: if an unknown field that would choose what runs is an error, the names that are none nevertheless,
        because responses have them and clients send back what they have read.
        """
        descriptor: Any = request.DESCRIPTOR
        fields = RequestFields.of(descriptor, path_fields)
        self._request = request
        self._takes_body = takes_body
        self._fields = fields
        self._headers = {header.name: header for header in fields.headers}
        self._content = "body" if takes_body else "query"
        self._echoed = echoed
        self._mask = mask_field(descriptor)
        self._validate = SchemaValidator(request_schema(descriptor, fields, takes_body=takes_body)).validate_python

    @classmethod
    def of(cls, operation: Operation) -> "RequestDecoder":
        """The decoder of an operation."""
        echoed = frozenset(field.name for field in rest_fields(operation.output)) if operation.chooses_runs else None
        return cls(operation.request, operation.path_fields, takes_body=operation.takes_body, echoed=echoed)

    def decode(self, source: Source, *, strict: bool = False) -> Decoded:
        """The message of a request. Unknown fields are ignored and named; with `strict` they are errors.

        So are those that would choose what runs, where that is what a request is for.
        """
        query = source.query
        parts: dict[str, Any] = {
            "path": source.path,
            "query": query if isinstance(query, dict) else _parameters(query) if query else {},
            "header": self._attribution(source.headers),
        }
        if self._takes_body:
            parts["body"] = source.body if isinstance(source.body, dict) else parse_json(source.body or b"")
        try:
            return Decoded(self._message(self._validate(parts, extra="forbid")))
        except ValidationError as error:
            ignored = self._unknown(error, strict=strict)
        return Decoded(self._message(self._validate(parts, extra="ignore")), ignored)

    def explain(self, violations: Iterable[Violation]) -> list[FieldError]:
        """The violations that a service found in the message, at their locations in the HTTP request."""
        return [
            FieldError(
                self._locate(violation.field), violation.message, violation.type.replace(".", "_") or "value_error"
            )
            for violation in violations
        ]

    def _locate(self, path: str) -> Location:
        """The location of a dotted field path ("test_ids[2]"). An empty path is the whole body or query."""
        parts: list[Any] = [int(index) if index else key or name for key, index, name in _PATH_PART.findall(path)]
        if parts and parts[0] in (field.name for field in self._fields.path):
            return ("path", *parts)
        for header in self._fields.headers:
            if tuple(parts[: len(header.path)]) == header.path:
                return ("header", header.name, *parts[len(header.path) :])
        if parts and not self._takes_body and parts[0] not in (field.name for field in self._fields.content):
            return ("body", *parts)  # of an upload
        return (self._content, *parts)

    def _attribution(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers that fill fields, and unknown ones of attribution.

        An empty header counts as absent, because CI systems export empty variables.
        """
        attribution = {}
        for name in headers:
            lower = name.lower()
            if lower in self._headers:
                if text := headers[name]:
                    attribution[lower] = text
            elif lower.startswith(_ATTRIBUTION):
                attribution[lower] = headers[name]
        return attribution

    def _message(self, values: dict[str, dict[str, Any]]) -> Any:
        content = values[self._content]
        message: Any = self._request(**values["path"], **content)
        for name, value in values["header"].items():
            self._headers[name].fill(message, value)
        if self._mask is not None:
            getattr(message, self._mask).paths.extend(content)
        return message

    def _unknown(self, error: ValidationError, *, strict: bool) -> tuple[str, ...]:
        """The names of the unknown fields if nothing else is wrong; else InvalidRequest."""
        if error.error_count() > MAX_COUNTED:
            message = f"Input should have at most {MAX_COUNTED} unknown or invalid fields"
            raise InvalidRequest([FieldError((self._content,), message, "too_long")])
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        unknown = [one["loc"] for one in errors if one["type"] == _UNKNOWN]
        choices = [] if strict else [loc for number, loc in enumerate(unknown) if self._chooses_runs(loc, number)]
        if len(unknown) == len(errors) and not strict and not choices:
            return tuple(_dotted(loc) for loc in unknown[:MAX_IGNORED])
        wrong = [FieldError(one["loc"], one["msg"], one["type"]) for one in errors if one["type"] != _UNKNOWN]
        wrong += [unknown_choice(loc, self._names_at(loc)) for loc in choices[:MAX_ERRORS]]
        if strict:
            wrong += [unknown_field(loc, self._nearest(loc)) for loc in unknown[:MAX_ERRORS]]
        raise InvalidRequest(wrong[:MAX_ERRORS])

    def _chooses_runs(self, loc: Location, number: int) -> bool:
        """Whether what is at the location, or the known field whose name is misspelt there, would choose what runs.

        Only the first hundred names are compared with the known ones, which takes 50 µs each.
        """
        name = str(loc[-1])
        if self._echoed is None or loc[0] == "header" or name in self._echoed:
            return False
        meant = self._nearest(loc, _MISSPELT) if number < MAX_IGNORED else None
        return chooses_runs(name) or chooses_runs(meant or "")

    def _nearest(self, loc: Location, cutoff: float = 0.6) -> str | None:
        """The known name that is most like the last part of a location."""
        name = str(loc[-1])
        matches = get_close_matches(name, self._names_at(loc), n=1, cutoff=cutoff) if len(name) < 100 else []
        return matches[0] if matches else None

    def _names_at(self, loc: Location) -> list[str]:
        if loc[0] == "header":
            return list(self._headers)
        known = self._fields.content if loc[0] == self._content else ()
        for part in loc[1:-1]:
            inner = next((f.message for f in known if f.name == part), None)
            known = request_fields(inner) if inner is not None else known
        return [f.name for f in known]


def parse_json(body: bytes) -> object:
    """The JSON value of a body; an empty body is {}.

    Raises:
        MalformedBody: it is not JSON; it has the position of the error.
        InvalidRequest: it has more than VALUES_LIMIT values: free-form fields cost microseconds for each.
    """
    if not body or body.isspace():
        return {}
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise MalformedBody(f"The body is not valid JSON: {error}") from None
    if len(body) > 2 * VALUES_LIMIT and _has_more_values(value, VALUES_LIMIT):
        message = f"Input should have at most {VALUES_LIMIT} values in all objects and lists together"
        raise InvalidRequest([FieldError(("body",), message, "too_long")])
    return value


def _has_more_values(json: object, limit: int) -> bool:
    waiting = [json]
    while waiting:
        node = waiting.pop()
        inner = list(node.values()) if isinstance(node, dict) else node
        if isinstance(inner, list):
            limit -= len(inner)
            if limit < 0:
                return True
            waiting.extend(each for each in inner if isinstance(each, dict | list))
    return False


def _parameters(query: str) -> dict[str, str]:
    """The last value of each parameter. Bytes that are not UTF-8 become lone surrogates, which no field accepts."""
    pairs = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    return {_text(name): text for name, text in pairs if name}


def _text(name: str) -> str:
    return name if name.isascii() else name.encode(errors="replace").decode()


def _dotted(loc: Location) -> str:
    """A location without its first part: "run_config.retriess", "steps[2].x"."""
    head, *rest = loc[1:]
    return str(head) + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


def chooses_runs(name: str) -> bool:
    """Whether a field of this name would choose an app, a build, a test, a platform, a device or a commit.

    "app_id", "buildVersion" and "device-names" do; "location_config" does not, and neither does "test_timeout", which
    would only change how something runs.
    """
    words = [word.lower() for word in _WORD.findall(name[:_READ])]
    if not _MANNERS.isdisjoint(words):
        return False
    return "".join(words) in _NAMES or any(word in _CHOICES or _ENDING.sub("", word) in _CHOICES for word in words)
