"""The nodes of a page source, the limits of its size, and the error for invalid sources."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.elements import Bounds, Element

BYTES_LIMIT = 4 * 1024 * 1024
DEPTH_LIMIT = 400
NODE_LIMIT = 20_000
# Attributes of one node.
ATTRIBUTES_LIMIT = 200


class SourceError(Exception):
    """An invalid page source. The message has the line and column, from 1, and says what to do."""

    def __init__(self, message: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {message}")


class SourceTooLarge(SourceError):
    """The source exceeds a limit: so does the screen of the app."""


@dataclass(slots=True, eq=False)
class SourceNode:
    """A node of XML or HTML with its child nodes and texts in order."""

    tag: str
    attributes: dict[str, str]
    content: "list[SourceNode | str]" = field(default_factory=list)

    @property
    def nodes(self) -> "list[SourceNode]":
        return [part for part in self.content if isinstance(part, SourceNode)]

    @property
    def direct_text(self) -> str:
        """The text directly inside, with spaces collapsed."""
        return " ".join(" ".join(part for part in self.content if isinstance(part, str)).split())


class TreeBuilder:
    """Builds a tree from the events of a parser; `position` returns the line and column of the current event."""

    def __init__(self, position: Callable[[], tuple[int, int]]) -> None:
        self._position = position
        self._count = 0
        self.roots: list[SourceNode] = []
        self.open: list[SourceNode] = []

    def begin(self, tag: str, attributes: dict[str, str], *, leaf: bool = False) -> None:
        self._count += 1
        if self._count > NODE_LIMIT:
            raise self._too_large(f"the source has more than {NODE_LIMIT} nodes: send one screen")
        if len(self.open) >= DEPTH_LIMIT:
            raise self._too_large(
                f"the source is nested deeper than {DEPTH_LIMIT} levels: lower the driver's snapshot depth"
            )
        if len(attributes) > ATTRIBUTES_LIMIT:
            raise self._too_large(
                f"<{cut(tag, 60)}> has more than {ATTRIBUTES_LIMIT} attributes: send what the driver returned"
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

    def _too_large(self, message: str) -> SourceTooLarge:
        return SourceTooLarge(message, *self._position())


def walk_nodes(root: SourceNode) -> list[SourceNode]:
    """The node and its descendants, parents first, in the order of the source."""
    nodes, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if node.content:
            waiting.extend(reversed(node.nodes))
    return nodes


def build_elements(
    nodes: list[SourceNode], element_of: Callable[[SourceNode, tuple[Element, ...]], Element]
) -> Element:
    """Convert a tree, whose nodes `walk_nodes` lists; `element_of` gets each with the elements of its children."""
    made: list[Element] = []
    for node in reversed(nodes):
        children: tuple[Element, ...] = ()
        if node.content:
            first = len(made) - len(node.nodes)
            children = tuple(reversed(made[first:]))
            del made[first:]
        made.append(element_of(node, children))
    return made[0]


def parse_number(text: str | None) -> float | None:
    """The number in an attribute; None if there is none, or it is not finite."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < 1e7 else None


# An element of which less is on the screen is not visible, as in Maestro.
LEAST_SHARE = 0.1


def is_on_screen(bounds: Bounds | None, screen: Bounds | None) -> bool:
    """Whether enough of the bounds is on the screen; True for an element without bounds.

    One with neither width nor height is not, one with only one of them is a line and may be; what drivers say of its
    visibility counts for nothing, because they call every line invisible.
    """
    if bounds is None:
        return True
    if bounds.width < 0 or bounds.height < 0 or (bounds.width == 0 and bounds.height == 0):
        return False
    if screen is None or screen.width <= 0 or screen.height <= 0:
        return True
    return bounds.share_within(screen) >= LEAST_SHARE
