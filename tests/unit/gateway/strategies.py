"""Messages as services could answer them."""

from typing import Any

from google.protobuf import struct_pb2, timestamp_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st
from mobiletest.options.v1 import options_pb2

from services.chassis.proto_values import enum_spellings
from services.gateway.contract.fields import field_rules, option, rest_fields
from services.gateway.contract.operations import EMPTY, HTTP_BODY, all_operations

RESPONSES = sorted(
    {op.output.full_name: op.output for op in all_operations() if op.output.full_name not in (EMPTY, HTTP_BODY)}.items()
)

texts = st.text(st.characters(codec="utf-8"), max_size=8)
free_form = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
moments = st.builds(
    lambda seconds, milliseconds: timestamp_pb2.Timestamp(seconds=seconds, nanos=milliseconds * 1_000_000),
    st.integers(-62135596800, 253402300799),
    st.integers(0, 999),
)


def struct(content: dict[str, Any]) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update(content)
    return made


def scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        return st.sampled_from(sorted(enum_spellings(field.enum_type)))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        rules = field_rules(field)
        without = ("Cc",) if rules.single_line or rules.multi_line else ()
        characters = st.characters(codec="utf-8", exclude_categories=without)
        text = st.text(characters, min_size=rules.min_length or 0, max_size=8)
        return text.filter(str.strip) if option(field, options_pb2.contract).trimmed and rules.min_length else text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return st.booleans()
    if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return st.floats(allow_nan=False, allow_infinity=False)
    return st.integers(int(field_rules(field).minimum or 0), int(field_rules(field).maximum or 2**31 - 1))


def content(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    inner = field.message_type
    if inner is None:
        return scalar(field)
    known = {
        "google.protobuf.Timestamp": moments,
        "google.protobuf.Struct": st.dictionaries(texts, free_form, max_size=3).map(struct),
        "google.protobuf.Value": free_form.map(lambda value: struct({"x": value}).fields["x"]),
    }
    if inner.full_name in known:
        return known[inner.full_name]
    return st.deferred(lambda: response_messages(inner))


def response_messages(descriptor: Descriptor) -> st.SearchStrategy[Message]:
    """Any message of this type that a service could answer with."""
    make = GetMessageClass(descriptor)
    shown = {
        field.name: st.lists(content(field.descriptor), max_size=2) if field.repeated else content(field.descriptor)
        for field in rest_fields(descriptor)
    }
    return st.fixed_dictionaries({}, optional=shown).map(lambda chosen: make(**chosen))
