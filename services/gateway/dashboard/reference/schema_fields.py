"""The fields of a JSON Schema for readers: references resolved, with types, bounds and meanings in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from services.gateway.dashboard.reference.prose import mark_names, split_meanings

Schema = Mapping[str, Any]

_ANY = "any JSON value"
_NULL = "null"
_SILENT_FORMATS = frozenset(("int32", "int64", "uint32", "uint64", "float", "double"))
_EXTREMES = frozenset((-(2**63), -(2**31), 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1))
"""Bounds of number formats, which say nothing about the field."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A type in words ("array of Run or null"), and the object in it: its name and schema, if it has any."""

    text: str
    name: str = ""
    properties: Schema | None = None


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A property of an object.

    `object_name` names the schema of an object in it. `fields` are the properties of this object; they are left out
    where an earlier field of the same body has them.
    """

    name: str
    shape: str
    required: bool
    description: Markup
    bounds: tuple[str, ...]
    meanings: tuple[tuple[str, Markup], ...]
    object_name: str
    fields: tuple["SchemaField", ...]


class SchemaReader:
    """Reads one body: each named schema is shown where it first occurs, so that a schema may contain itself."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        """`schemas` by name, for references."""
        self._schemas = schemas
        self._shown: set[str] = set()

    def body(self, schema: Schema) -> tuple[SchemaField, ...]:
        """The fields of a body, or of the items of an array; none if there are no objects in it."""
        return self._fields(self.shape(schema))

    def shape(self, schema: Schema) -> Shape:
        """The type of a value."""
        if "$ref" in schema:
            name = str(schema["$ref"]).rpartition("/")[2]
            return self._named(name, self._schemas[name])
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return self._union([self.shape(choice) for choice in choices])
        kinds = schema.get("type", [])
        names = [kinds] if isinstance(kinds, str) else kinds
        return self._union([self._typed(kind, schema) for kind in names]) if names else Shape(_ANY)

    def field(self, name: str, schema: Schema, *, required: bool, description: str = "") -> SchemaField:
        """A property or a parameter; `description` is used where the schema has none."""
        shape = self.shape(schema)
        choices = schema.get("enum") or schema.get("items", {}).get("enum", ())
        values = [value for value in choices if value is not None]
        own, meanings = split_meanings(schema.get("description", ""), values)
        text = " ".join(part for part in (description, own) if part)
        return SchemaField(
            name=name,
            shape=shape.text,
            required=required,
            description=mark_names(text),
            bounds=tuple(_bounds(schema)),
            meanings=tuple((value, mark_names(meanings.get(value, ""))) for value in values),
            object_name=shape.name,
            fields=self._fields(shape),
        )

    def _fields(self, shape: Shape) -> tuple[SchemaField, ...]:
        if shape.properties is None or shape.name in self._shown:
            return ()
        if shape.name:
            self._shown.add(shape.name)
        required = shape.properties.get("required", ())
        return tuple(
            self.field(name, schema, required=name in required)
            for name, schema in shape.properties.get("properties", {}).items()
        )

    def _named(self, name: str, schema: Schema) -> Shape:
        return Shape(name, name, schema) if "properties" in schema else self.shape(schema)

    def _typed(self, kind: str, schema: Schema) -> Shape:
        if kind == "array":
            items = self.shape(schema.get("items", {}))
            return Shape(f"array of {items.text}", items.name, items.properties)
        if kind == "object":
            return self._object(schema)
        return Shape(_scalar(kind, schema))

    def _object(self, schema: Schema) -> Shape:
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping) and "properties" not in schema:
            inner = self.shape(values)
            return Shape(f"object with values of {inner.text}", inner.name, inner.properties)
        return Shape("object", "", schema if schema.get("properties") else None)

    def _union(self, shapes: list[Shape]) -> Shape:
        inner = next((shape for shape in shapes if shape.properties is not None), Shape(""))
        texts = sorted((shape.text for shape in shapes), key=lambda text: text == _NULL)
        return Shape(" or ".join(texts), inner.name, inner.properties)


def _scalar(kind: str, schema: Schema) -> str:
    if kind == _NULL:
        return _NULL
    if schema.get("format") == "binary":
        return "file"
    media = str(schema.get("contentMediaType", "")).rpartition("/")[2]
    detail = schema.get("format", media)
    return f"{kind} ({detail})" if detail and detail not in _SILENT_FORMATS else kind


def _bounds(schema: Schema) -> Iterator[str]:
    if text := _range(schema.get("minimum"), schema.get("maximum")):
        yield text
    if "exclusiveMinimum" in schema:
        yield f"more than {schema['exclusiveMinimum']}"
    if text := _range(schema.get("minLength"), schema.get("maxLength")):
        yield f"{text} characters"
    if text := _range(schema.get("minItems"), schema.get("maxItems")):
        yield f"{text} items"
    if schema.get("uniqueItems"):
        yield "all different"
    if "default" in schema:
        yield f"default {_literal(schema['default'])}"


def _range(least: float | None, most: float | None) -> str:
    low = None if least in _EXTREMES else least
    high = None if most in _EXTREMES else most
    if low is not None and high is not None:
        return f"{low:,} to {high:,}"
    if low is not None:
        return f"at least {low:,}"
    return f"at most {high:,}" if high is not None else ""


def _literal(value: object) -> str:
    """As JSON, but for texts."""
    return str(value).lower() if isinstance(value, bool) else str(value)
