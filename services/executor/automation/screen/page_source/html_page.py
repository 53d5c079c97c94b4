"""Static HTML as elements. It has no bounds, so it is laid out in lines, which shows what is above, below or beside.

Blocks begin a new line; inline elements and the cells of a table row are side by side. Stylesheets are ignored.
"""

from collections.abc import Iterator

from services.executor.automation.screen.elements import NOWHERE, Bounds, Element, Role
from services.executor.automation.screen.page_source.html_semantics import (
    NAMED_BY_CONTENT,
    checked_of,
    enabled_of,
    is_hidden,
    names_of,
    role_of,
    selected_of,
)
from services.executor.automation.screen.page_source.nodes import SourceNode, build_elements, walk_nodes

_LINE, _COLUMN = 20, 100
INLINE = frozenset(("a", "abbr", "b", "button", "cite", "code", "em", "i", "img", "input", "kbd", "label", "mark"))
INLINE |= {"meter", "output", "progress", "q", "s", "select", "small", "span", "strong", "sub", "sup", "svg", "td"}
INLINE |= {"textarea", "th", "time", "u"}
"""Tags that do not begin a new line."""


def lay_out(root: SourceNode) -> dict[SourceNode, Bounds]:
    """The bounds of every node in pixels of an arbitrary size; NOWHERE for empty nodes."""
    lines = _LineLayout()
    waiting: list[tuple[SourceNode, SourceNode | str | None]] = [(root, root)]
    while waiting:
        node, part = waiting.pop()
        if part is None:
            lines.end(node)
        elif isinstance(part, str):
            lines.add_text(part)
        else:
            lines.begin(part)
            waiting.append((part, None))
            waiting.extend((part, each) for each in reversed(part.content))
    return lines.bounds


class _LineLayout:
    """Puts the parts of a page, which come in order, side by side into lines."""

    def __init__(self) -> None:
        self.bounds: dict[SourceNode, Bounds] = {}
        self._line = 0
        self._column = 0
        self._open: list[list[Bounds]] = [[]]
        """The boxes inside each element that has begun, the innermost last."""

    def begin(self, node: SourceNode) -> None:
        if node.tag not in INLINE:
            self._break()
        self._open.append([])

    def add_text(self, text: str) -> None:
        if text.strip():
            self._add_box()

    def end(self, node: SourceNode) -> None:
        if node.tag not in INLINE:
            self._break()
        elif not node.content:
            self._add_box()
        boxes = self._open.pop()
        self.bounds[node] = _bounding_box(boxes)
        if boxes:
            self._open[-1].append(self.bounds[node])

    def _add_box(self) -> None:
        self._open[-1].append(Bounds(self._column * _COLUMN, self._line * _LINE, _COLUMN, _LINE))
        self._column += 1

    def _break(self) -> None:
        if self._column:
            self._line += 1
            self._column = 0


def _bounding_box(boxes: list[Bounds]) -> Bounds:
    if not boxes:
        return NOWHERE
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.right for box in boxes), max(box.bottom for box in boxes)
    return Bounds(left, top, right - left, bottom - top)


_CONTROLS = frozenset({"input", "select", "textarea", "button"})
_PHRASING = (INLINE - _CONTROLS - {"td", "th"}) | {"br"}


def read_page(root: SourceNode) -> Element:
    """The page as elements; the root is the screen."""
    return build_elements(root, _PageReader(root).element_of)


class _PageReader:
    def __init__(self, root: SourceNode) -> None:
        self._root = root
        self._bounds = lay_out(root)
        nodes = walk_nodes(root)
        self._by_id = {node.attributes["id"]: node for node in reversed(nodes) if node.attributes.get("id")}
        self._labels: dict[SourceNode, SourceNode] = {}
        self._off: set[SourceNode] = set()
        self._unseen: set[SourceNode] = set()
        for node in nodes:
            self._note(node)

    def _note(self, node: SourceNode) -> None:
        if node.tag == "label":
            labelled = self._labelled(node)
            if labelled is not None:
                self._labels.setdefault(labelled, node)
        elif node.tag == "fieldset" and "disabled" in node.attributes:
            self._off.update(walk_nodes(node))
        elif node.tag == "select" and not {"multiple", "size"} & node.attributes.keys():
            self._unseen.update(walk_nodes(node)[1:])
        elif node.tag == "details" and "open" not in node.attributes:
            self._unseen.update(child for child in node.nodes if child.tag != "summary")

    def _labelled(self, label: SourceNode) -> SourceNode | None:
        if "for" in label.attributes:
            return self._by_id.get(label.attributes["for"])
        return next((node for node in walk_nodes(label)[1:] if node.tag in _CONTROLS), None)

    def element_of(self, node: SourceNode, children: tuple[Element, ...]) -> Element:
        tag, has = node.tag, node.attributes
        if node is self._root:
            return Element(role=Role.SCREEN, bounds=self._bounds[node], attributes=has, children=children)
        names = names_of(tag, has, content=self._content(node), labels=self._texts_of_labels(node))
        return Element(
            role=role_of(tag, has),
            text=names.text,
            label=names.label,
            hint=names.hint,
            id=names.id,
            bounds=self._bounds[node],
            enabled=enabled_of(has) and node not in self._off,
            visible=not is_hidden(tag, has) and node not in self._unseen and tag != "br",
            checked=checked_of(tag, has),
            focused="autofocus" in has,
            selected=selected_of(has),
            clickable="onclick" in has,
            attributes=has,
            children=children,
        )

    def _texts_of_labels(self, node: SourceNode) -> list[str]:
        named = [
            self._by_id[each] for each in node.attributes.get("aria-labelledby", "").split() if each in self._by_id
        ]
        labels = named or ([self._labels[node]] if node in self._labels else [])
        return [_inner_text(label) for label in labels]

    def _content(self, node: SourceNode) -> str:
        if node.tag == "select":
            options = [each for each in walk_nodes(node) if each.tag == "option"]
            chosen = [each for each in options if "selected" in each.attributes] or options[:1]
            return _inner_text(chosen[-1]) if chosen else ""
        if node.tag == "textarea":
            return "".join(part for part in node.content if isinstance(part, str)).removeprefix("\n")
        direct = node.direct_text
        whole = role_of(node.tag, node.attributes) in NAMED_BY_CONTENT or (direct and _only_phrasing(node))
        return _inner_text(node) if whole else direct


def _only_phrasing(node: SourceNode) -> bool:
    return all(each.tag in _PHRASING for each in walk_nodes(node)[1:])


def _inner_text(node: SourceNode) -> str:
    """The visible text inside, without the contents of fields and what attributes hide."""
    return " ".join("".join(_pieces(node)).split()) if node.nodes else node.direct_text


def _pieces(node: SourceNode) -> Iterator[str]:
    waiting: list[SourceNode | str] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif part is node or not (part.tag in ("select", "textarea") or is_hidden(part.tag, part.attributes)):
            apart = "" if part.tag in _PHRASING and part.tag != "br" else " "
            yield apart + (part.attributes.get("alt", "") if part.tag == "img" else "")
            waiting.append(apart)
            waiting.extend(reversed(part.content))
