"""Static HTML as elements. It has no bounds, so it is laid out in lines, which shows what is above, below or beside.

Blocks begin a new line; inline elements and the cells of a table row are side by side. Stylesheets are ignored.
"""

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.elements import NOWHERE, Bounds, Element, Role
from mobiletest_automation.screen.page_source.html_contents import INLINE, PageContents
from mobiletest_automation.screen.page_source.html_semantics import (
    NAMED_BY_CONTENT,
    checked_of,
    enabled_of,
    is_hidden,
    names_of,
    role_of,
    selected_of,
)
from mobiletest_automation.screen.page_source.nodes import SourceNode, build_elements, walk_nodes

_LINE, _COLUMN = 20, 100


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
        # The boxes inside each element that has begun, the innermost last.
        self._open: list[list[Bounds]] = [[]]

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


# Characters of a name that comes from other elements; several elements may have the same.
LABEL_LIMIT = 1_000


def read_page(root: SourceNode) -> Element:
    """The page as elements; the root is the screen."""
    nodes = walk_nodes(root)
    return build_elements(nodes, _PageReader(nodes).element_of)


class _PageReader:
    def __init__(self, nodes: list[SourceNode]) -> None:
        """`nodes` are all of the page, the root first."""
        self._root = nodes[0]
        self._bounds = lay_out(self._root)
        self._contents = PageContents(nodes)
        self._by_id = {node.attributes["id"]: node for node in reversed(nodes) if node.attributes.get("id")}
        self._labels: dict[SourceNode, SourceNode] = {}
        self._label_texts: dict[SourceNode, str] = {}
        self._off: set[SourceNode] = set()
        self._in_select: set[SourceNode] = set()
        self._closed: set[SourceNode] = set()
        for node in nodes:
            self._note(node)

    def _note(self, node: SourceNode) -> None:
        """Note what follows from this node for those inside it, which come later, and for the one it labels."""
        if node.tag == "label":
            labelled = self._labelled(node)
            if labelled is not None:
                self._labels.setdefault(labelled, node)
        elif node.tag == "fieldset" and "disabled" in node.attributes:
            self._off.add(node)
        elif node.tag == "details" and "open" not in node.attributes:
            self._closed.update(child for child in node.nodes if child.tag != "summary")
        if node in self._off:
            self._off.update(node.nodes)
        if node in self._in_select or (node.tag == "select" and not {"multiple", "size"} & node.attributes.keys()):
            self._in_select.update(node.nodes)

    def _labelled(self, label: SourceNode) -> SourceNode | None:
        if "for" in label.attributes:
            return self._by_id.get(label.attributes["for"])
        return self._contents[label].control

    def element_of(self, node: SourceNode, children: tuple[Element, ...]) -> Element:
        tag, has = node.tag, node.attributes
        if node is self._root:
            return Element(role=Role.SCREEN, bounds=self._bounds[node], tag=tag, attributes=has, children=children)
        names = names_of(tag, has, content=self._content(node), labels=self._texts_of_labels(node))
        return Element(
            role=role_of(tag, has),
            text=names.text,
            label=names.label,
            hint=names.hint,
            id=names.id,
            bounds=self._bounds[node],
            enabled=enabled_of(has) and node not in self._off,
            visible=not is_hidden(tag, has) and self._is_open(node) and tag != "br",
            checked=checked_of(tag, has),
            focused="autofocus" in has,
            selected=selected_of(has),
            clickable="onclick" in has,
            secret=has.get("type", "").lower() == "password",
            tag=tag,
            attributes=has,
            children=children,
        )

    def _is_open(self, node: SourceNode) -> bool:
        """Whether it is neither in a list of options nor in closed details."""
        return node not in self._in_select and node not in self._closed

    def _texts_of_labels(self, node: SourceNode) -> list[str]:
        references = dict.fromkeys(node.attributes.get("aria-labelledby", "").split())
        named = [self._by_id[each] for each in references if each in self._by_id]
        labels = named or ([self._labels[node]] if node in self._labels else [])
        texts: list[str] = []
        left = LABEL_LIMIT
        while labels and left > 0:
            texts.append(cut(self._label_text(labels.pop(0)), left))
            left -= len(texts[-1]) + 1
        return texts

    def _label_text(self, label: SourceNode) -> str:
        if label not in self._label_texts:
            self._label_texts[label] = cut(self._contents.inner_text(label), LABEL_LIMIT)
        return self._label_texts[label]

    def _content(self, node: SourceNode) -> str:
        inside = self._contents[node]
        if node.tag == "select":
            option = inside.chosen or inside.option
            return self._contents.inner_text(option) if option is not None else ""
        if node.tag == "textarea":
            return "".join(part for part in node.content if isinstance(part, str)).removeprefix("\n")
        direct = node.direct_text
        whole = role_of(node.tag, node.attributes) in NAMED_BY_CONTENT or (direct and inside.phrasing)
        return self._contents.inner_text(node) if whole else direct
