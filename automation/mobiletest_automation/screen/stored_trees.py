"""The stored form of a screen's elements: a line for each, compressed."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

import orjson

from mobiletest_automation.screen.elements import NO_ATTRIBUTES, Bounds, Element, Role

# Larger trees are not kept; this is what page.js and the drivers' readers accept.
ELEMENTS_LIMIT = 20_000
DEPTH_LIMIT = 200
# Before compression.
BYTES_LIMIT = 16 * 1024 * 1024

TOO_LARGE = "the screen has too many elements to be kept"

_TEXTS = ("text", "label", "hint", "id", "tag")
_FLAGS = ("enabled", "visible", "focused", "selected", "clickable", "secret")
_get_texts, _get_flags = attrgetter(*_TEXTS), attrgetter(*_FLAGS)
_CHECKED = {None: None, False: 0, True: 1}
_LEVEL = 6

# The depth of an element and its fields without the children.
_Row: TypeAlias = tuple[int, Mapping[str, Any]]


class UnreadableTree(Exception):
    """Stored bytes are no tree of this form, or a larger one than is ever kept."""


def encode_tree(root: Element, change: Callable[[Element], Mapping[str, Any]] = lambda element: {}) -> bytes:
    """The same bytes for equal trees. CSS selectors are not kept: they belong to the step that asked for them.

    `change` returns the texts and attributes that an element is stored with in place of its own, by their names.

    Raises:
        UnreadableTree: it has too many elements, levels or bytes to be kept.
    """
    rows = list(islice(_rows(root), ELEMENTS_LIMIT + 1))
    if len(rows) > ELEMENTS_LIMIT:
        raise UnreadableTree(TOO_LARGE)
    lines, size = [], 0
    for depth, element in rows:
        line = orjson.dumps(_values(depth, element, change(element)), option=orjson.OPT_SORT_KEYS)
        size += len(line) + 1
        if depth > DEPTH_LIMIT or size > BYTES_LIMIT:
            raise UnreadableTree(TOO_LARGE)
        lines.append(line)
    return zlib.compress(b"\n".join(lines), _LEVEL)


def decode_tree(stored: bytes) -> Element:
    """The tree that `encode_tree` was given.

    Raises:
        UnreadableTree: these bytes are none.
    """
    reader = zlib.decompressobj()
    try:
        lines = reader.decompress(stored, BYTES_LIMIT)
        if not reader.eof:
            raise UnreadableTree("the stored tree is cut or too large")
        rows = [_row(orjson.loads(line)) for line in lines.split(b"\n", ELEMENTS_LIMIT)]
        return _nest(rows)
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError) as error:
        raise UnreadableTree("the stored tree is damaged") from error


def _rows(root: Element) -> Iterator[tuple[int, Element]]:
    """Each element with its depth, parents first."""
    waiting = [(0, root)]
    while waiting:
        depth, element = waiting.pop()
        yield depth, element
        waiting.extend((depth + 1, child) for child in reversed(element.children))


def _values(depth: int, each: Element, changed: Mapping[str, Any]) -> list[object]:
    flags = 0
    for place, flag in enumerate(_get_flags(each)):
        if flag:
            flags |= 1 << place
    bounds = each.bounds
    # Not rounded: what is below something else may be so by a part of a pixel.
    box = (float(bounds.x), float(bounds.y), float(bounds.width), float(bounds.height))
    texts = _get_texts(each)
    if changed:
        texts = tuple(changed.get(name, text) for name, text in zip(_TEXTS, texts, strict=True))
    attributes = changed.get("attributes", each.attributes)
    return [depth, each.role, flags, _CHECKED[each.checked], box, *texts, dict(attributes)]


def _row(values: list[Any]) -> _Row:
    """ValueError, TypeError, LookupError or AttributeError if the values are not those of an element."""
    depth, role, flags, checked, box, *texts, attributes = values
    text, label, hint, identifier, tag = (_text(each) for each in texts)
    x, y, width, height = (float(side) for side in box)
    return depth + 0, {
        "role": Role(role),
        "text": text,
        "label": label,
        "hint": hint,
        "id": identifier,
        "tag": tag,
        "bounds": Bounds(x, y, width, height),
        "checked": None if checked is None else bool(checked),
        "attributes": {name: _text(value) for name, value in attributes.items()} or NO_ATTRIBUTES,
        **{name: bool(flags >> place & 1) for place, name in enumerate(_FLAGS)},
    }


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _nest(rows: Sequence[_Row]) -> Element:
    """The tree of elements in order with their depths; LookupError if they make none."""
    children: list[list[Element]] = [[] for _ in range(DEPTH_LIMIT + 2)]
    below = 0
    for depth, values in reversed(rows):
        if not 0 <= depth <= DEPTH_LIMIT or below > depth + 1:
            raise LookupError("not a tree")
        inside = tuple(reversed(children[depth + 1]))
        children[depth + 1].clear()
        children[depth].append(Element(**values, children=inside))
        below = depth
    if below or len(children[0]) != 1:
        raise LookupError("not one tree")
    return children[0][0]
