"""JSON Schemas of messages. What a client may send differs from what it gets, so a type may have two."""

from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from services.gateway.contract.fields import Field, Rules, enum_spellings, request_fields, rest_fields
from services.gateway.decoding.numbers import RANGES

Schema = dict[str, Any]

_WELL_KNOWN: dict[str, Schema] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Struct": {"type": "object", "additionalProperties": True},
    "google.protobuf.ListValue": {"type": "array", "items": {}},
    "google.protobuf.Value": {},
}
_BOUNDS = {"minimum": "minimum", "maximum": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


class Schemas:
    """Collects the components while operations refer to them."""

    def __init__(self, comments: dict[str, str]) -> None:
        self.components: dict[str, Schema] = {}
        self._comments = comments

    def answer(self, message: Descriptor) -> Schema:
        """A reference to what a client gets: every field is there, null where there is nothing."""
        if message.name not in self.components:
            self.components[message.name] = {}
            self.components[message.name] = self._object(message, rest_fields(message), sent=False)
        return {"$ref": f"#/components/schemas/{message.name}"}

    def body(self, message: Descriptor, sent: tuple[Field, ...]) -> Schema:
        """A reference to a request's body, which has these fields of the message."""
        self.components[message.name] = self._object(message, sent, sent=True)
        return {"$ref": f"#/components/schemas/{message.name}"}

    def parameter(self, field: Field) -> Schema:
        """The schema of a query, path or header parameter."""
        return _with_default(field, self._value(field, sent=True))

    def comment(self, full_name: str) -> str:
        """What the protos say of this."""
        return self._comments.get(full_name, "")

    def _nested(self, message: Descriptor) -> Schema:
        """A reference to a message within a request."""
        name = f"{message.name}Input"
        if name not in self.components:
            self.components[name] = {}
            self.components[name] = self._object(message, request_fields(message), sent=True)
        return {"$ref": f"#/components/schemas/{name}"}

    def _object(self, message: Descriptor, shown: tuple[Field, ...], *, sent: bool) -> Schema:
        required = [field.name for field in shown if field.rules.required or not sent]
        schema: Schema = {
            "type": "object",
            "description": self.comment(message.full_name),
            "properties": {field.name: self._property(field, sent=sent) for field in shown},
        }
        return {**schema, "required": required} if required else schema

    def _property(self, field: Field, *, sent: bool) -> Schema:
        schema = self._list(field, sent=sent) if field.repeated else self._value(field, sent=sent)
        if _may_be_null(field, sent=sent):
            schema = _or_null(schema)
        texts = (self.comment(field.descriptor.full_name), schema.get("description", ""))
        described = {**schema, "description": " ".join(text for text in texts if text)}
        return _with_default(field, described) if sent else described

    def _list(self, field: Field, *, sent: bool) -> Schema:
        rules = field.rules
        schema: Schema = {"type": "array", "items": self._value(field, sent=sent, rules=rules.items or Rules())}
        bounds = {"minItems": rules.min_length, "maxItems": rules.max_length, "uniqueItems": rules.unique or None}
        return {**schema, **({key: bound for key, bound in bounds.items() if bound is not None} if sent else {})}

    def _value(self, field: Field, *, sent: bool, rules: Rules | None = None) -> Schema:
        if field.message is not None:
            known = _WELL_KNOWN.get(field.message.full_name)
            if known is not None:
                return dict(known)
            return self._nested(field.message) if sent else self.answer(field.message)
        if field.descriptor.enum_type is not None:
            return self._enum(field.descriptor.enum_type)
        return self._scalar(field, rules or field.rules)

    def _enum(self, enum: EnumDescriptor) -> Schema:
        spelt = enum_spellings(enum)
        names = {value.number: f"{enum.full_name}.{value.name}" for value in enum.values}
        meanings = [f"{text}: {self.comment(names[number])}" for number, text in spelt.by_number.items()]
        return {"type": "string", "enum": list(spelt.texts), "description": " ".join(meanings)}

    def _scalar(self, field: Field, rules: Rules) -> Schema:
        schema = _type(field, rules)
        if schema["type"] == "string":
            lengths = {"minLength": rules.min_length, "maxLength": rules.max_length}
            schema |= {key: bound for key, bound in lengths.items() if bound is not None}
            if self._is_uuid(field, rules):
                schema["format"] = "uuid"
        schema |= {key: getattr(rules, name) for name, key in _BOUNDS.items() if getattr(rules, name) is not None}
        if rules.choices:
            schema["enum"] = list(rules.choices)
        if field.example:
            schema["examples"] = [field.example]
        return schema

    def _is_uuid(self, field: Field, rules: Rules) -> bool:
        """Requests have a rule; of answers only the comment says it."""
        return rules.uuid or ", a UUID" in self.comment(field.descriptor.full_name)


def _type(field: Field, rules: Rules) -> Schema:
    kind = field.descriptor.type
    if kind == FieldDescriptor.TYPE_STRING:
        return {"type": "string"}
    if kind == FieldDescriptor.TYPE_BOOL:
        return {"type": "boolean"}
    if kind not in RANGES:
        return {"type": "number", "format": "double"}
    low, high = RANGES[kind]
    schema: Schema = {"type": "integer", "format": "int64" if high > 2**32 else "int32"}
    if rules.minimum is None and rules.above is None:
        schema["minimum"] = low
    if rules.maximum is None and rules.below is None:
        schema["maximum"] = high
    return schema


def _may_be_null(field: Field, *, sent: bool) -> bool:
    if field.repeated:
        return False
    if sent:
        return field.nullable
    return field.presence or field.message is not None or field.descriptor.enum_type is not None


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def _with_default(field: Field, schema: Schema) -> Schema:
    if not field.default:
        return schema
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "boolean" in kinds:
        return {**schema, "default": field.default == "true"}
    number = {"integer": int, "number": float}
    cast = next((number[name] for name in kinds if name in number), None)
    return {**schema, "default": cast(field.default) if cast else field.default}
