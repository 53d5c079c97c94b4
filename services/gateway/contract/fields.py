"""The fields of messages as REST knows them."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from mobiletest.options.v1 import options_pb2

FIELD_MASK = "google.protobuf.FieldMask"


@dataclass(frozen=True, slots=True)
class Field:
    """One field with its contract. `header` is as the interface spells it, empty for what comes from elsewhere."""

    descriptor: FieldDescriptor
    name: str
    repeated: bool
    presence: bool
    default: str
    header: str
    from_headers: bool
    non_null: bool
    internal: bool
    example: str
    rules: "Rules"

    @property
    def message(self) -> Descriptor | None:
        """The type of a message field."""
        return self.descriptor.message_type

    @property
    def nullable(self) -> bool:
        """Whether a request may say null: the field is then left unset."""
        return self.presence and not self.non_null


@cache
def rest_fields(message: Descriptor) -> tuple[Field, ...]:
    """The fields that REST may read or write, in the order of their numbers: no internal ones."""
    return tuple(field for field in map(_field, message.fields) if not field.internal)


def request_fields(message: Descriptor) -> tuple[Field, ...]:
    """The fields that a client can send: an update mask is ours to fill."""
    return tuple(field for field in rest_fields(message) if not _is_mask(field))


def mask_field(message: Descriptor) -> str | None:
    """The name of the field mask that a PATCH fills, if the message has one."""
    return next((field.name for field in rest_fields(message) if _is_mask(field)), None)


def _is_mask(field: Field) -> bool:
    return field.message is not None and field.message.full_name == FIELD_MASK


def _field(descriptor: FieldDescriptor) -> Field:
    contract = option(descriptor, options_pb2.contract)
    return Field(
        descriptor=descriptor,
        name=descriptor.name,
        repeated=descriptor.is_repeated,
        presence=descriptor.has_presence,
        default=contract.default_value,
        header=contract.header,
        from_headers=contract.from_headers,
        non_null=contract.non_null,
        internal=contract.internal,
        example=contract.example,
        rules=rules(descriptor),
    )


@dataclass(frozen=True, slots=True)
class EnumSpellings:
    """Both directions of one enum. A value without a spelling encodes as null and cannot be sent."""

    by_number: dict[int, str]
    by_text: dict[str, int]
    by_folded: dict[str, int]

    @property
    def texts(self) -> tuple[str, ...]:
        """In the order of the proto."""
        return tuple(self.by_text)


@cache
def enum_spellings(enum: EnumDescriptor) -> EnumSpellings:
    """The spellings of an enum; ValueError when two values would read the same in a query."""
    named: dict[int, str] = {value.number: option(value, options_pb2.spelling) for value in enum.values}
    by_number = {number: text for number, text in named.items() if text}
    by_text = {text: number for number, text in by_number.items()}
    by_folded = {text.casefold(): number for text, number in by_text.items()}
    if len(by_folded) != len(by_number):
        raise ValueError(f"{enum.full_name}: two values have the same spelling")
    return EnumSpellings(by_number, by_text, by_folded)


def option(descriptor: Any, extension: Any) -> Any:
    """The extension of a descriptor's options; its default value when the proto does not set it."""
    return descriptor.GetOptions().Extensions[extension]


Number = int | float


@dataclass(frozen=True, slots=True)
class Rules:
    """The bounds of one field; None where there is none. Lengths count characters, or items of a list.

    `choices` are all values that it may have, if the rules name them.
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
    items: "Rules | None" = None


_SAME_NAME = {"gte": "minimum", "lte": "maximum", "gt": "above", "lt": "below"}
_LENGTHS = {"min_len": "min_length", "max_len": "max_length", "min_items": "min_length", "max_items": "max_length"}


@cache
def rules(field: FieldDescriptor) -> Rules:
    """The rules of a field."""
    return _read(option(field, validate_pb2.field))


def _read(written: Any) -> Rules:
    kind = written.WhichOneof("type")
    found: dict[str, Any] = {"required": bool(written.required)}
    if kind is not None:
        found.update(_of_kind(getattr(written, kind)))
    return Rules(**found)


def _of_kind(typed: Any) -> dict[str, Any]:
    known = {field.name: value for field, value in typed.ListFields()}
    renamed = {**_SAME_NAME, **_LENGTHS, "uuid": "uuid", "unique": "unique"}
    found = {renamed[name]: value for name, value in known.items() if name in renamed}
    if "in" in known:
        found["choices"] = tuple(known["in"])
    if "items" in known:
        found["items"] = _read(known["items"])
    return found
