"""pydantic core schemas of messages, for the validation of requests and the JSON Schemas of OpenAPI."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from services.chassis.proto_values import enum_spellings
from services.gateway.contract.fields import Field, FieldRules, RequestFields, request_fields, rest_fields
from services.gateway.decoding.scalar_schemas import default_value, json_schema_updates, scalar_schema
from services.gateway.decoding.well_known_types import well_known_schema

_VALUE = "google.protobuf.Value"
# What the rule single_line of rules.proto says beside the pattern, in which not every client could read it.
SEEN = " A text that is not empty has a character that can be seen: white space and characters without width are none."
_TRIMMED = " White space at both ends is removed first."


def request_schema(message: Descriptor, fields: RequestFields, *, takes_body: bool) -> CoreSchema:
    """A request as {"path": .., "query": .., "header": .., "body": ..}."""
    parts = {
        "path": _parameters({field.name: field for field in fields.path}),
        "query": _parameters({} if takes_body else {field.name: field for field in fields.content}),
        "header": _parameters({header.name: header.field for header in fields.headers}),
    }
    if takes_body:
        parts["body"] = MessageSchemas().request(message, fields.content, message.name)
    return core_schema.typed_dict_schema({name: core_schema.typed_dict_field(part) for name, part in parts.items()})


def _parameters(fields: Mapping[str, Field]) -> CoreSchema:
    return core_schema.typed_dict_schema(
        {
            name: core_schema.typed_dict_field(parameter_schema(field), required=field.required)
            for name, field in fields.items()
        }
    )


def parameter_schema(field: Field) -> CoreSchema:
    """The text of a path segment, query parameter or header: a scalar, or a message that JSON writes as a text."""
    known = well_known_schema(field.message) if field.message is not None else None
    return known or scalar_schema(field, field.rules, text=True)


class MessageSchemas:
    """Schemas of messages as JSON objects. `comments`, by full name, become the descriptions of JSON Schemas."""

    def __init__(self, comments: Mapping[str, str] | None = None) -> None:
        self._comments = comments or {}

    def request(self, message: Descriptor, sent: Iterable[Field], name: str) -> CoreSchema:
        """An object with these fields of a request. It validates to keyword arguments of the message type."""
        return core_schema.typed_dict_schema(
            {field.name: self._request_property(field) for field in sent},
            ref=name,
            metadata=json_schema_updates(description=self.comment(message.full_name)),
        )

    def response(self, message: Descriptor) -> CoreSchema:
        """The object of a response, for the document only. Every field is there, null if it is not set."""
        return core_schema.typed_dict_schema(
            {field.name: self._response_property(field) for field in rest_fields(message)},
            ref=response_name(message),
            metadata=json_schema_updates(description=self.comment(message.full_name)),
        )

    def comment(self, full_name: str) -> str:
        """The comment of the protos on a message, field, enum value or method."""
        return self._comments.get(full_name, "")

    def description(self, field: Field) -> str:
        """The comments of the protos on a field and on the values of its enum."""
        texts = (self.comment(field.descriptor.full_name), *self.meanings(field))
        return " ".join(text for text in texts if text)

    def meanings(self, field: Field) -> Iterator[str]:
        """The comments of the protos on the values of a field's enum."""
        enum = field.descriptor.enum_type
        if enum is not None:
            names = {value.number: f"{enum.full_name}.{value.name}" for value in enum.values}
            for number, text in enum_spellings(enum).items():
                yield f"{text}: {self.comment(names[number])}"

    def _request_property(self, field: Field) -> core_schema.TypedDictField:
        seen = SEEN if (field.rules.items or field.rules).single_line else ""
        trimmed = _TRIMMED if field.contract.trimmed else ""
        updates: dict[str, Any] = {"description": self.description(field) + seen + trimmed}
        if (default := default_value(field)) is not None:
            updates["default"] = default
        metadata = json_schema_updates(**updates)
        return core_schema.typed_dict_field(self._request_field(field), required=field.required, metadata=metadata)

    def _request_field(self, field: Field) -> CoreSchema:
        if field.repeated:
            return _list_schema(self._request_value(field, field.rules.items or FieldRules()), field.rules)
        value = self._request_value(field, field.rules)
        return core_schema.nullable_schema(value) if field.nullable and not _is_value(field) else value

    def _request_value(self, field: Field, rules: FieldRules) -> CoreSchema:
        if field.message is None:
            return scalar_schema(field, rules)
        known, nested = well_known_schema(field.message), request_fields(field.message)
        return known or self.request(field.message, nested, f"{field.message.name}Input")

    def _response_property(self, field: Field) -> core_schema.TypedDictField:
        shown = not field.contract.omitted_when_absent
        metadata = json_schema_updates(description=self.description(field))
        return core_schema.typed_dict_field(self._response_field(field), required=shown, metadata=metadata)

    def _response_field(self, field: Field) -> CoreSchema:
        if field.message is None:
            value = scalar_schema(field, (field.rules.items or FieldRules()) if field.repeated else field.rules)
        else:
            value = well_known_schema(field.message) or self.response(field.message)
        if field.repeated:
            value = core_schema.list_schema(value)
        elif _is_value(field):
            return value
        return core_schema.nullable_schema(value) if field.null_when_absent else value


def response_name(message: Descriptor) -> str:
    """The name of a response in the document. "ListAppsResponse" becomes "ListAppsResult", because oapi-codegen makes
    a type of the first name itself for the operation ListApps.
    """
    name = message.name
    return f"{name.removesuffix('Response')}Result" if name.endswith("Response") else name


def _is_value(field: Field) -> bool:
    """Whether the field is free-form JSON, where null is a value."""
    return field.message is not None and field.message.full_name == _VALUE


def _list_schema(items: CoreSchema, rules: FieldRules) -> CoreSchema:
    least = rules.min_length or (1 if rules.required else None)
    schema = core_schema.list_schema(items, min_length=least, max_length=rules.max_length, strict=True)
    if not rules.unique:
        return schema
    metadata = json_schema_updates(uniqueItems=True)
    return core_schema.no_info_after_validator_function(_unique_items, schema, metadata=metadata)


def _unique_items(items: list[Any]) -> list[Any]:
    if len(set(items)) < len(items):
        raise PydanticCustomError("unique_items", "List should have unique items")
    return items
