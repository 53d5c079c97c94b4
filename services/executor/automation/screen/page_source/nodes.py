"""The nodes of a page source as they stand in it, the limits of what is read, and the error of what cannot be."""

from collections.abc import Callable
from dataclasses import dataclass, field

from services.executor.automation.screen.elements import Bounds, Element

BYTES_LIMIT = 4 * 1024 * 1024
DEPTH_LIMIT = 400
NODE_LIMIT = 20_000


class SourceError(Exception):
    """A page source that cannot be read. The message says where (line and column from 1) and what to do."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


@dataclass(slots=True, eq=False)
class SourceNode:
    """A node of XML or HTML: nodes and texts in it in their order."""

    tag: str
    attributes: dict[str, str]
    content: "list[SourceNode | str]" = field(default_factory=list)

    @property
    def nodes(self) -> "list[SourceNode]":
        return [part for part in self.content if isinstance(part, SourceNode)]

    @property
    def direct_text(self) -> str:
        """The text that stands directly in it, runs of space as one."""
        return " ".join(" ".join(part for part in self.content if isinstance(part, str)).split())


class TreeBuilder:
    """A tree that a parser makes from its events; `position` gives the line and column of the event at hand."""

    def __init__(self, position: Callable[[], tuple[int, int]]) -> None:
        self._position = position
        self._count = 0
        self.roots: list[SourceNode] = []
        self.open: list[SourceNode] = []

    def begin(self, tag: str, attributes: dict[str, str], *, leaf: bool = False) -> None:
        self._count += 1
        if self._count > NODE_LIMIT:
            raise self.error(f"the source has more than {NODE_LIMIT} nodes: send one screen")
        if len(self.open) >= DEPTH_LIMIT:
            raise self.error(
                f"the source is nested deeper than {DEPTH_LIMIT} levels: lower the driver's snapshot depth"
            )
        node = SourceNode(tag, attributes)
        (self.open[-1].content if self.open else self.roots).append(node)
        if not leaf:
            self.open.append(node)

    def end(self) -> None:
        self.open.pop()

    def text(self, text: str) -> None:
        if self.open:
            self.open[-1].content.append(text)

    def error(self, message: str) -> SourceError:
        return SourceError(message, *self._position())


def walk_nodes(root: SourceNode) -> list[SourceNode]:
    """The node and everything in it, parents first, in the order of the source."""
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(reversed(node.nodes))
    return found


def build_elements(root: SourceNode, element_of: Callable[[SourceNode, tuple[Element, ...]], Element]) -> Element:
    """The tree of elements; `element_of` gets every node with the elements that are already made of those in it."""
    made: dict[SourceNode, Element] = {}
    for node in reversed(walk_nodes(root)):
        made[node] = element_of(node, tuple(made.pop(child) for child in node.nodes))
    return made[root]


def parse_number(text: str | None) -> float | None:
    """The number that an attribute holds, None for none that is finite."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < 1e7 else None


def is_on_screen(bounds: Bounds | None, screen: Bounds | None) -> bool:
    """Whether something of the bounds is on the screen; what has no bounds is taken to be."""
    if bounds is None:
        return True
    if bounds.width <= 0 or bounds.height <= 0:
        return False
    if screen is None or screen.width <= 0 or screen.height <= 0:
        return True
    return bounds.intersection(screen) is not None
