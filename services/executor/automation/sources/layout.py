"""Lays static HTML out in lines: it has no bounds, yet what is above, below or beside what has an order in it.

Blocks begin a new line, what is inline stands side by side, the cells of a table row too. Stylesheets are not known.
"""

from collections.abc import Iterator

from services.executor.automation.elements import NOWHERE, Bounds
from services.executor.automation.sources.nodes import Node

_LINE, _COLUMN = 20, 100
INLINE = frozenset(("a", "abbr", "b", "button", "cite", "code", "em", "i", "img", "input", "kbd", "label", "mark"))
INLINE |= {"meter", "output", "progress", "q", "s", "select", "small", "span", "strong", "sub", "sup", "svg", "td"}
INLINE |= {"textarea", "th", "time", "u"}
"""Tags that begin no new line."""


def lay_out(root: Node) -> dict[Node, Bounds]:
    """Where everything in it stands, in pixels of a made-up size; NOWHERE for what is empty."""
    lines = _Lines()
    for node, part in _passed(root):
        lines.meet(node, part)
    return lines.bounds()


def _passed(root: Node) -> Iterator[tuple[Node, str | None]]:
    """Every node where it begins and where it ends (None), and where it has text of its own (the text)."""
    waiting: list[tuple[Node, str | Node | None]] = [(root, root)]
    while waiting:
        node, part = waiting.pop()
        if not isinstance(part, Node):
            yield node, part
            continue
        yield part, None
        waiting.append((part, None))
        waiting.extend((part, each) for each in reversed(part.content))


class _Lines:
    def __init__(self) -> None:
        self._line = 0
        self._column = 0
        self._order: list[Node] = []
        self._parents: dict[Node, Node] = {}
        self._boxes: dict[Node, list[Bounds]] = {}
        self._open: list[Node] = []

    def meet(self, node: Node, text: str | None) -> None:
        if text is not None:
            if text.strip():
                self._boxes[node].append(self._box())
        elif self._open and self._open[-1] is node:
            self._end(node)
        else:
            self._begin(node)

    def _begin(self, node: Node) -> None:
        if node.tag not in INLINE:
            self._break()
        if self._open:
            self._parents[node] = self._open[-1]
        self._order.append(node)
        self._open.append(node)
        self._boxes[node] = []

    def _end(self, node: Node) -> None:
        self._open.pop()
        if not node.content and node.tag in INLINE:
            self._boxes[node].append(self._box())
        if node.tag not in INLINE:
            self._break()

    def _box(self) -> Bounds:
        self._column += 1
        return Bounds((self._column - 1) * _COLUMN, self._line * _LINE, _COLUMN, _LINE)

    def _break(self) -> None:
        if self._column:
            self._line += 1
            self._column = 0

    def bounds(self) -> dict[Node, Bounds]:
        found: dict[Node, Bounds] = {}
        for node in reversed(self._order):
            found[node] = _around(self._boxes[node])
            if node in self._parents and self._boxes[node]:
                self._boxes[self._parents[node]].append(found[node])
        return found


def _around(boxes: list[Bounds]) -> Bounds:
    if not boxes:
        return NOWHERE
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.right for box in boxes), max(box.bottom for box in boxes)
    return Bounds(left, top, right - left, bottom - top)
