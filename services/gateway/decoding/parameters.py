"""What fills fields from text: the path, the query and headers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from google.protobuf.message import Message

from services.gateway.contract.fields import Field, rest_fields
from services.gateway.decoding import scalars, validation_errors
from services.gateway.decoding.validation_errors import Findings, Location, Refused

MOST_PARAMETERS = 1000
_ATTRIBUTION = ("x-ci-", "x-service-")


@dataclass(frozen=True, slots=True)
class TextField:
    """A field that text fills; `parent` names the message field that it lies in ("" for the request itself)."""

    name: str
    loc: Location
    convert: scalars.FromText
    parent: str = ""

    def fill(self, message: Any, text: str, findings: Findings) -> None:
        """Set the field; a text that does not fit goes to `findings`."""
        try:
            value = self.convert(text)
        except Refused as refused:
            findings.refuse(self.loc, refused.refusal)
            return
        setattr(getattr(message, self.parent) if self.parent else message, self.name, value)


class QueryReader:
    """Reads a query string. Of a repeated parameter the last value counts."""

    def __init__(self, known: Iterable[Field]) -> None:
        self._fields = {
            field.name: TextField(field.name, ("query", field.name), scalars.from_text(field)) for field in known
        }

    def read(self, message: Message, query: str, findings: Findings) -> None:
        """Fill `message` from a raw query string ("page=2&search=a%20b")."""
        for name, text in _parameters(query, findings).items():
            field = self._fields.get(name)
            if field is None:
                findings.ignore(("query", name), self._fields)
            else:
                field.fill(message, text, findings)


def _parameters(query: str, findings: Findings) -> dict[str, str]:
    found = {}
    for pair in query.split("&", MOST_PARAMETERS)[:MOST_PARAMETERS]:
        raw_name, _, raw_text = pair.partition("=")
        if not raw_name:
            continue
        name = unquote_plus(raw_name, errors="replace")
        try:
            found[name] = unquote_plus(raw_text, errors="strict")
        except UnicodeDecodeError:
            findings.refuse(("query", name), validation_errors.NOT_UNICODE)
    return found


class HeaderReader:
    """Reads the headers that fill fields. An empty header counts as absent: CI systems export empty variables."""

    def __init__(self, message_fields: Iterable[Field]) -> None:
        found = [text for field in message_fields for text in _from_header(field)]
        self.fields: dict[str, TextField] = dict(found)

    def read(self, message: Message, headers: Mapping[str, str], findings: Findings) -> None:
        """Fill `message`; attribution headers that the operation does not know are ignored, and named."""
        for name in headers:
            lower = name.lower()
            field = self.fields.get(lower)
            if field is not None:
                if text := headers[name]:
                    field.fill(message, text, findings)
            elif lower.startswith(_ATTRIBUTION):
                findings.ignore(("header", lower), self.fields)


def _from_header(field: Field) -> list[tuple[str, TextField]]:
    if field.header:
        return [_header_field(field, "")]
    if field.from_headers and field.message is not None:
        return [_header_field(inner, field.name) for inner in rest_fields(field.message) if inner.header]
    return []


def _header_field(field: Field, parent: str) -> tuple[str, TextField]:
    lower = field.header.lower()
    return lower, TextField(field.name, ("header", lower), scalars.from_text(field), parent)
