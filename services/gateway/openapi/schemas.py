"""JSON Schemas of messages. Requests and responses differ, so a message in both has two."""

from typing import Any

from google.protobuf.descriptor import Descriptor
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, core_schema

from services.gateway.contract.fields import Field
from services.gateway.decoding.core_schemas import MessageSchemas, parameter_schema, response_name
from services.gateway.decoding.scalar_schemas import default_value

Schema = dict[str, Any]

_REFERENCE = "#/components/schemas/{model}"


class Schemas:
    """Collects the messages that operations refer to."""

    def __init__(self, comments: dict[str, str]) -> None:
        self._messages = MessageSchemas(comments)
        self._collected: dict[str, CoreSchema] = {}

    def response(self, message: Descriptor) -> Schema:
        """A reference to the body of a response."""
        name = response_name(message)
        if name not in self._collected:
            self._collected[name] = self._messages.response(message)
        return _reference(name)

    def body(self, message: Descriptor, sent: tuple[Field, ...]) -> Schema:
        """A reference to the body of a request, which has these fields of the message."""
        self._collected[message.name] = self._messages.request(message, sent, message.name)
        return _reference(message.name)

    def parameter(self, field: Field) -> Schema:
        """The schema of a query, path or header parameter."""
        schema = _Generator(ref_template=_REFERENCE).generate(parameter_schema(field))
        meanings, default = " ".join(self._messages.meanings(field)), default_value(field)
        schema |= {"description": meanings} if meanings else {}
        return {**schema, "default": default} if default is not None else schema

    def comment(self, full_name: str) -> str:
        """The comment of the protos on a message, field or method."""
        return self._messages.comment(full_name)

    def components(self) -> dict[str, Schema]:
        """The schemas of all collected messages and of the messages in them."""
        inputs: Any = [(name, "validation", schema) for name, schema in self._collected.items()]
        _, definitions = _Generator(ref_template=_REFERENCE).generate_definitions(inputs)
        return {str(name): schema for name, schema in definitions.items()}


def _reference(name: str) -> Schema:
    return {"$ref": _REFERENCE.format(model=name)}


class _Generator(GenerateJsonSchema):
    """pydantic's generator without titles that repeat names, in the order of the protos, with short null types."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value

    def enum_schema(self, schema: core_schema.EnumSchema) -> Schema:
        return {"type": "string", "enum": [member.value for member in schema["members"]]}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        inner = self.generate_inner(schema["schema"])
        if "type" not in inner:
            return {"anyOf": [inner, {"type": "null"}]}
        null = {"enum": [*inner["enum"], None]} if "enum" in inner else {}
        return {**inner, "type": [inner["type"], "null"], **null}
