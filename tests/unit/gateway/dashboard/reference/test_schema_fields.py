"""Fields of JSON Schemas for readers: types, bounds and meanings in words; nothing is shown for ever."""

from typing import Any

import pytest

from services.gateway.dashboard.reference.schema_fields import SchemaField, SchemaReader

TREE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "parent": {"anyOf": [{"$ref": "#/components/schemas/Tree"}, {"type": "null"}]},
        "leaves": {"type": "array", "items": {"$ref": "#/components/schemas/Leaf"}},
        "fallen": {"type": "array", "items": {"$ref": "#/components/schemas/Leaf"}},
    },
    "required": ["name"],
}
LEAF: dict[str, Any] = {"type": "object", "properties": {"colour": {"type": "string"}}}
SCHEMAS = {"Tree": TREE, "Leaf": LEAF, "Id": {"type": "string", "format": "uuid"}}


def field(schema: dict[str, Any], *, required: bool = False) -> SchemaField:
    return SchemaReader(SCHEMAS).field("x", schema, required=required)


@pytest.mark.parametrize(
    ("schema", "shape"),
    [
        ({"type": "string"}, "string"),
        ({"type": "string", "format": "date-time"}, "string (date-time)"),
        ({"type": "integer", "format": "int32"}, "integer"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": ["null", "string"]}, "string or null"),
        ({"type": ["string", "null"], "enum": ["a", None]}, "string or null"),
        ({}, "any JSON value"),
        ({"type": "array", "items": {}}, "array of any JSON value"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, "array of array of boolean"),
        ({"$ref": "#/components/schemas/Leaf"}, "Leaf"),
        ({"$ref": "#/components/schemas/Id"}, "string (uuid)"),
        ({"anyOf": [{"$ref": "#/components/schemas/Leaf"}, {"type": "null"}]}, "Leaf or null"),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "string or array of string"),
        ({"type": "object", "additionalProperties": True}, "object"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object with values of number"),
        ({"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}, "file"),
        ({"type": "string", "contentMediaType": "application/json"}, "string (json)"),
    ],
)
def test_types_in_words(schema: dict[str, Any], shape: str) -> None:
    assert field(schema).shape == shape


@pytest.mark.parametrize(
    ("schema", "bounds"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 500, "default": 50}, ("1 to 500", "default 50")),
        ({"type": "integer", "minimum": 1, "maximum": 2**31 - 1}, ("at least 1",)),
        ({"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}, ()),
        ({"type": "integer", "minimum": 0, "maximum": 0}, ("0 to 0",)),
        ({"type": "number", "exclusiveMinimum": 0}, ("more than 0",)),
        ({"type": "string", "maxLength": 10000}, ("at most 10,000 characters",)),
        ({"type": "array", "items": {}, "minItems": 1, "uniqueItems": True}, ("at least 1 items", "all different")),
        ({"type": "boolean", "default": False}, ("default false",)),
    ],
)
def test_bounds_in_words(schema: dict[str, Any], bounds: tuple[str, ...]) -> None:
    assert field(schema).bounds == bounds


def test_each_value_of_an_enum_has_its_meaning() -> None:
    text = "The result. passed: The newest run passed. not_run: It did not run: no device."
    found = field({"type": ["string", "null"], "enum": ["passed", "not_run", None], "description": text})
    assert found.description == "The result."
    assert found.meanings == (("passed", "The newest run passed."), ("not_run", "It did not run: no device."))
    many = field({"type": "array", "items": {"type": "string", "enum": ["read"]}, "description": "Scopes."})
    assert (many.description, many.meanings) == ("Scopes.", (("read", ""),))


def test_descriptions_are_text() -> None:
    found = field({"type": "string", "description": "<b>bold</b> & `max_parallel` & run_config.env"})
    expected = "&lt;b&gt;bold&lt;/b&gt; &amp; <code>max_parallel</code> &amp; <code>run_config.env</code>"
    assert str(found.description) == expected


def test_objects_are_shown_where_they_first_occur() -> None:
    """A schema that contains itself, and one that occurs twice, are shown once."""
    name, parent, leaves, fallen = SchemaReader(SCHEMAS).body({"$ref": "#/components/schemas/Tree"})
    assert (name.required, parent.required) == (True, False)
    assert (parent.object_name, parent.fields) == ("Tree", ())
    assert (leaves.object_name, [inner.name for inner in leaves.fields]) == ("Leaf", ["colour"])
    assert (fallen.object_name, fallen.fields) == ("Leaf", ())


def test_objects_in_arrays_maps_and_without_a_name_are_shown() -> None:
    named = {"$ref": "#/components/schemas/Leaf"}
    for schema in ({"type": "array", "items": named}, {"type": "object", "additionalProperties": named}, LEAF):
        assert [inner.name for inner in SchemaReader(SCHEMAS).body(schema)] == ["colour"]
    assert SchemaReader(SCHEMAS).body({"type": "string"}) == ()
