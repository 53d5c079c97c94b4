"""The options (mobiletest.options.v1) of methods and request fields in the protos."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from mobiletest.options.v1 import options_pb2


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC, for the server's interceptor and the client's channel."""

    service: str
    name: str
    required_scope: str
    needs_organisation: bool
    callers: frozenset[str]
    takes_idempotency_key: bool
    idempotent: bool
    is_paged: bool
    response: type[Message]

    @property
    def path(self) -> str:
        """/package.Service/Method."""
        return f"/{self.service}/{self.name}"


def describe_methods(services: Iterable[ServiceDescriptor]) -> dict[str, Method]:
    """All methods of the services, by path."""
    methods = (_method(method) for service in services for method in service.methods)
    return {method.path: method for method in methods}


def _method(descriptor: MethodDescriptor) -> Method:
    contract: Any = _extension(descriptor, options_pb2.method_contract)
    return Method(
        service=descriptor.containing_service.full_name,
        name=descriptor.name,
        required_scope=contract.required_scope,
        needs_organisation=not contract.no_organisation,
        callers=frozenset(contract.callers),
        takes_idempotency_key=contract.idempotency_key,
        idempotent=_is_idempotent(descriptor, contract.required_scope),
        is_paged="page_size" in descriptor.input_type.fields_by_name and not contract.own_turns,
        response=GetMessageClass(descriptor.output_type),
    )


def _is_idempotent(descriptor: MethodDescriptor, scope: str) -> bool:
    level = descriptor.GetOptions().idempotency_level
    return scope == "read" or level != MethodOptions.IDEMPOTENCY_UNKNOWN


def _extension(descriptor: Any, extension: Any) -> Any:
    return descriptor.GetOptions().Extensions[extension]


@cache
def field_defaults(descriptor: Descriptor) -> tuple[tuple[FieldDescriptor, Any], ...]:
    """The fields of a request message that have a default value in the proto, with that value."""
    defaults = []
    for field in descriptor.fields:
        text = _extension(field, options_pb2.contract).default_value
        if text:
            defaults.append((field, _value(field, text)))
    return tuple(defaults)


def apply_defaults(request: Message) -> None:
    """Set the absent fields that have a default; absent messages stay absent."""
    for field, value in field_defaults(request.DESCRIPTOR):
        absent = not request.HasField(field.name) if field.has_presence else not getattr(request, field.name)
        if absent:
            setattr(request, field.name, value)


@cache
def trimmed_fields(descriptor: Descriptor) -> tuple[str, ...]:
    """The texts of a request message whose surrounding white space is removed."""
    return tuple(f.name for f in descriptor.fields if _extension(f, options_pb2.contract).trimmed)


def _value(field: FieldDescriptor, text: str) -> Any:
    if field.type == FieldDescriptor.TYPE_BOOL:
        return text == "true"
    if field.type == FieldDescriptor.TYPE_ENUM:
        return _enum_number(field, text)
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return float(text)
    return text if field.type == FieldDescriptor.TYPE_STRING else int(text)


def _enum_number(field: FieldDescriptor, spelling: str) -> int:
    for value in field.enum_type.values if field.enum_type else ():
        if _extension(value, options_pb2.spelling) == spelling:
            return int(value.number)
    raise ValueError(f"{field.full_name}: no enum value is spelled {spelling}")
