"""Converts dataclasses of the model to documents and back, by their type hints. None and absent are the same."""

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from services.chassis.mongo import Document

T = TypeVar("T")
Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]


def to_document(value: Any) -> Document:
    """The fields of a dataclass that are not None, as MongoDB values."""
    kind: Any = type(value)
    items = ((name, getattr(value, name)) for name in _names(kind))
    return {name: _to_value(item) for name, item in items if item is not None}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _to_value(value: Any) -> Any:
    kind: Any = type(value)
    write = _value_writer(kind)
    return value if write is None else write(value)


@cache
def _value_writer(kind: type) -> Writer | None:
    """Converts values of a type; None for types that stay as they are."""
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, list | tuple):
        return lambda value: [_to_value(item) for item in value]
    return to_document if is_dataclass(kind) else None


def from_document(kind: type[T], document: Document) -> T:
    """The dataclass of the document. An absent field gets its default, else None."""
    known: Any = kind
    values = {}
    for name, (read, has_default) in _readers(known).items():
        if document.get(name) is not None:
            values[name] = read(document[name])
        elif not has_default:
            values[name] = None
    return kind(**values)


@cache
def _readers(kind: Any) -> dict[str, tuple[Reader, bool]]:
    hints = get_type_hints(kind)
    return {
        field.name: (_reader(hints[field.name]), field.default is not MISSING or field.default_factory is not MISSING)
        for field in fields(kind)
    }


def _reader(hint: Any) -> Reader:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _reader(next(part for part in get_args(hint) if part is not type(None)))
    if origin is tuple:
        read = _reader(get_args(hint)[0])
        return lambda items: tuple(read(item) for item in items)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda document: from_document(hint, document)
    if hint in (str, int, float, bool, datetime):
        return _unchanged
    raise TypeError(f"documents cannot hold {hint!r}")


def _unchanged(value: Any) -> Any:
    return value
