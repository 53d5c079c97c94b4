"""The fields of messages as REST knows them."""

from dataclasses import dataclass
from functools import cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from mobiletest.options.v1 import options_pb2

from services.gateway.contract.options import option
from services.gateway.contract.rules import Rules, rules

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
    rules: Rules

    @property
    def message(self) -> Descriptor | None:
        """The type of a message field."""
        return self.descriptor.message_type

    @property
    def nullable(self) -> bool:
        """Whether a request may say null: the field is then left unset."""
        return self.presence and not self.non_null


@cache
def fields(message: Descriptor) -> tuple[Field, ...]:
    """The fields that REST may read or write, in the order of their numbers: no internal ones."""
    return tuple(field for field in map(_field, message.fields) if not field.internal)


def request_fields(message: Descriptor) -> tuple[Field, ...]:
    """The fields that a client can send: an update mask is ours to fill."""
    return tuple(field for field in fields(message) if not _is_mask(field))


def mask_field(message: Descriptor) -> str | None:
    """The name of the field mask that a PATCH fills, if the message has one."""
    return next((field.name for field in fields(message) if _is_mask(field)), None)


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
