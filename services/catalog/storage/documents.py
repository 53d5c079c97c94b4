"""Entities as documents: a field each, with the entity's id as `_id`."""

from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from typing import Any, TypeVar, cast

from services.chassis.mongo import Document

E = TypeVar("E")


def load(kind: Callable[..., E], document: Document, **converted: Any) -> E:
    """The entity of a stored document; `converted` holds the values that are stored in another form."""
    values = {
        name: document["_id" if name == "id" else name]
        for name in _field_names(cast(Any, kind))
        if name not in converted
    }
    return kind(**values, **converted)


def dump(entity: Any, **converted: Any) -> Document:
    """The document of an entity; `converted` holds values in their stored form and further fields."""
    document: Document = asdict(entity)
    if "id" in document:
        document["_id"] = document.pop("id")
    return document | converted


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
