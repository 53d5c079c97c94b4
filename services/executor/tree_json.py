"""A stored tree as the JSON of the API."""

from collections.abc import Iterator

import orjson

from mobiletest_automation.screen.elements import NOWHERE, Element
from mobiletest_automation.screen.stored_trees import UnreadableTree, decode_tree

_TEXTS = ("text", "label", "hint", "id", "tag")
_FLAGS = {"enabled": True, "visible": True, "focused": False, "selected": False, "clickable": False, "secret": False}


def read_tree(stored: bytes) -> bytes:
    """The tree in JSON, as the proto describes it; empty if these bytes are none."""
    try:
        return b"".join(_pieces(decode_tree(stored)))
    except UnreadableTree:
        return b""


def _pieces(root: Element) -> Iterator[bytes]:
    """In the order of the text: a tree may be deeper than what encoders nest, which is 254 levels of `orjson`."""
    waiting, last = [(0, root)], 0
    while waiting:
        depth, element = waiting.pop()
        if depth > last:
            yield b',"children":['
        elif depth:
            yield b"%b}," % (b"}]" * (last - depth))
        yield orjson.dumps(_fields(element))[:-1]
        last = depth
        waiting.extend((depth + 1, child) for child in reversed(element.children))
    yield b"}" + b"]}" * last


def _fields(element: Element) -> dict[str, object]:
    """What the element is, without what is the same for most."""
    values: dict[str, object] = {"role": element.role}
    values |= {name: text for name in _TEXTS if (text := getattr(element, name))}
    values |= {name: flag for name, usual in _FLAGS.items() if (flag := getattr(element, name)) is not usual}
    if element.checked is not None:
        values["checked"] = element.checked
    if element.bounds != NOWHERE:
        bounds = element.bounds
        values["bounds"] = [_short(side) for side in (bounds.x, bounds.y, bounds.width, bounds.height)]
    if element.attributes:
        values["attributes"] = dict(element.attributes)
    return values


def _short(side: float) -> float | int:
    return int(side) if side.is_integer() else side
