"""The fields of messages as REST knows them: their contract and their rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from buf.validate import validate_pb2
from google.api import field_behavior_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from mobiletest.options.v1 import options_pb2

FIELD_MASK = "google.protobuf.FieldMask"

Number = int | float


def option(descriptor: Any, extension: Any) -> Any:
    """The extension of a descriptor's options; its default value when the proto does not set it."""
    return descriptor.GetOptions().Extensions[extension]


@dataclass(frozen=True, slots=True)
class FieldRules:
    """The rules of protovalidate for one field; None where there is no rule. Lengths are in characters or items.

    `choices` are the allowed values, if the rules list them; `single_line` and `multi_line` are rules of our own.
    """

    required: bool = False
    minimum: Number | None = None
    maximum: Number | None = None
    above: Number | None = None
    below: Number | None = None
    min_length: int | None = None
    max_length: int | None = None
    uuid: bool = False
    choices: tuple[str | int, ...] = ()
    unique: bool = False
    single_line: bool = False
    multi_line: bool = False
    items: "FieldRules | None" = None


@dataclass(frozen=True, slots=True)
class Field:
    """A field with its contract (options.proto) and its rules."""

    descriptor: FieldDescriptor
    name: str
    repeated: bool
    contract: options_pb2.FieldContract
    required: bool
    rules: FieldRules

    @property
    def message(self) -> Descriptor | None:
        """The type of a message field."""
        return self.descriptor.message_type

    @property
    def nullable(self) -> bool:
        """Whether a request may say null: the field is then left unset."""
        return self.descriptor.has_presence and not self.contract.non_null

    @property
    def null_when_absent(self) -> bool:
        """Whether a response has null where the field is not set; others are omitted, or have a zero value or []."""
        if self.contract.omitted_when_absent:
            return False
        if self.repeated:
            return self.contract.null_when_empty
        return self.descriptor.has_presence or self.message is not None or self.descriptor.enum_type is not None


@dataclass(frozen=True, slots=True)
class HeaderField:
    """A header that fills a field; `parent` names the message field around it ("" for the request itself)."""

    parent: str
    field: Field

    @property
    def name(self) -> str:
        """The header in lower case."""
        return self.field.contract.header.lower()

    @property
    def path(self) -> tuple[str, ...]:
        """The field within the request: ("ci", "branch")."""
        return (self.parent, self.field.name) if self.parent else (self.field.name,)

    def fill(self, message: Any, value: Any) -> None:
        """Set the field in a request."""
        setattr(getattr(message, self.parent) if self.parent else message, self.field.name, value)


@dataclass(frozen=True, slots=True)
class RequestFields:
    """The fields of a request by the part of the HTTP request that they come from."""

    path: tuple[Field, ...]
    headers: tuple[HeaderField, ...]
    # In the body, or in the query of operations without one.
    content: tuple[Field, ...]

    @classmethod
    def of(cls, message: Descriptor, path_names: Iterable[str]) -> "RequestFields":
        """`path_names` are the fields in the path."""
        in_path, known = set(path_names), request_fields(message)
        return cls(
            path=tuple(field for field in known if field.name in in_path),
            headers=tuple(_header_fields(known)),
            content=tuple(
                f for f in known if f.name not in in_path and not f.contract.header and not f.contract.from_headers
            ),
        )


@cache
def rest_fields(message: Descriptor) -> tuple[Field, ...]:
    """The fields that REST may read or write, in the order of their numbers: no internal ones."""
    return tuple(field for field in map(_field, message.fields) if not field.contract.internal)


def request_fields(message: Descriptor) -> tuple[Field, ...]:
    """The fields that a client can send. The gateway itself fills an update mask."""
    return tuple(field for field in rest_fields(message) if not _is_mask(field))


def mask_field(message: Descriptor) -> str | None:
    """The name of the field mask that a PATCH fills, if the message has one."""
    return next((field.name for field in rest_fields(message) if _is_mask(field)), None)


@cache
def field_rules(field: FieldDescriptor) -> FieldRules:
    """The rules of a field."""
    return _read_rules(option(field, validate_pb2.field))


def _is_mask(field: Field) -> bool:
    return field.message is not None and field.message.full_name == FIELD_MASK


def _header_fields(fields: Iterable[Field]) -> Iterator[HeaderField]:
    for field in fields:
        if field.contract.header:
            yield HeaderField("", field)
        elif field.contract.from_headers and field.message is not None:
            yield from (HeaderField(field.name, inner) for inner in rest_fields(field.message) if inner.contract.header)


def _field(descriptor: FieldDescriptor) -> Field:
    behavior = option(descriptor, field_behavior_pb2.field_behavior)
    return Field(
        descriptor=descriptor,
        name=descriptor.name,
        repeated=descriptor.is_repeated,
        contract=option(descriptor, options_pb2.contract),
        required=field_behavior_pb2.REQUIRED in behavior,
        rules=field_rules(descriptor),
    )


_RENAMED = {
    "gte": "minimum",
    "lte": "maximum",
    "gt": "above",
    "lt": "below",
    "min_len": "min_length",
    "max_len": "max_length",
    "min_items": "min_length",
    "max_items": "max_length",
    "uuid": "uuid",
    "unique": "unique",
    "single_line": "single_line",
    "multi_line": "multi_line",
}


def _read_rules(written: Any) -> FieldRules:
    kind = written.WhichOneof("type")
    known = {field.name: value for field, value in getattr(written, kind).ListFields()} if kind is not None else {}
    bounds: dict[str, Any] = {_RENAMED[name]: value for name, value in known.items() if name in _RENAMED}
    if "in" in known:
        bounds["choices"] = tuple(known["in"])
    if "items" in known:
        bounds["items"] = _read_rules(known["items"])
    return FieldRules(required=bool(written.required), **bounds)
