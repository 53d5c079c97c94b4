"""Static HTML as elements: names from its labels, states from its attributes, bounds from its order."""

from collections.abc import Iterator

from services.executor.automation.elements import Element, Role
from services.executor.automation.sources.html import (
    NAMED_BY_CONTENT,
    checked_of,
    enabled_of,
    hidden_of,
    names_of,
    role_of,
    selected_of,
)
from services.executor.automation.sources.layout import INLINE, lay_out
from services.executor.automation.sources.nodes import Node, elements_of, in_order

_CONTROLS = frozenset({"input", "select", "textarea", "button"})
_PHRASING = (INLINE - _CONTROLS - {"td", "th"}) | {"br"}


def read_page(root: Node) -> Element:
    """The page as elements; the root is the screen."""
    return elements_of(root, _Page(root).element_of)


class _Page:
    def __init__(self, root: Node) -> None:
        self._root = root
        self._bounds = lay_out(root)
        nodes = in_order(root)
        self._by_id = {node.attributes["id"]: node for node in reversed(nodes) if node.attributes.get("id")}
        self._labels: dict[Node, Node] = {}
        self._off: set[Node] = set()
        self._unseen: set[Node] = set()
        for node in nodes:
            self._note(node)

    def _note(self, node: Node) -> None:
        if node.tag == "label":
            labelled = self._labelled(node)
            if labelled is not None:
                self._labels.setdefault(labelled, node)
        elif node.tag == "fieldset" and "disabled" in node.attributes:
            self._off.update(in_order(node))
        elif node.tag == "select" and not {"multiple", "size"} & node.attributes.keys():
            self._unseen.update(in_order(node)[1:])
        elif node.tag == "details" and "open" not in node.attributes:
            self._unseen.update(child for child in node.nodes if child.tag != "summary")

    def _labelled(self, label: Node) -> Node | None:
        if "for" in label.attributes:
            return self._by_id.get(label.attributes["for"])
        return next((node for node in in_order(label)[1:] if node.tag in _CONTROLS), None)

    def element_of(self, node: Node, children: tuple[Element, ...]) -> Element:
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
            visible=not hidden_of(tag, has) and node not in self._unseen and tag != "br",
            checked=checked_of(tag, has),
            focused="autofocus" in has,
            selected=selected_of(has),
            clickable="onclick" in has,
            attributes=has,
            children=children,
        )

    def _texts_of_labels(self, node: Node) -> list[str]:
        named = [
            self._by_id[each] for each in node.attributes.get("aria-labelledby", "").split() if each in self._by_id
        ]
        labels = named or ([self._labels[node]] if node in self._labels else [])
        return [_inner_text(label) for label in labels]

    def _content(self, node: Node) -> str:
        if node.tag == "select":
            options = [each for each in in_order(node) if each.tag == "option"]
            chosen = [each for each in options if "selected" in each.attributes] or options[:1]
            return _inner_text(chosen[-1]) if chosen else ""
        if node.tag == "textarea":
            return "".join(part for part in node.content if isinstance(part, str)).removeprefix("\n")
        direct = node.direct_text
        whole = role_of(node.tag, node.attributes) in NAMED_BY_CONTENT or (direct and _only_phrasing(node))
        return _inner_text(node) if whole else direct


def _only_phrasing(node: Node) -> bool:
    return all(each.tag in _PHRASING for each in in_order(node)[1:])


def _inner_text(node: Node) -> str:
    """What is to be read in it, without what is typed into fields and what its attributes hide."""
    return " ".join("".join(_pieces(node)).split()) if node.nodes else node.direct_text


def _pieces(node: Node) -> Iterator[str]:
    waiting: list[Node | str] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif part is node or not (part.tag in ("select", "textarea") or hidden_of(part.tag, part.attributes)):
            apart = "" if part.tag in _PHRASING and part.tag != "br" else " "
            yield apart + (part.attributes.get("alt", "") if part.tag == "img" else "")
            waiting.append(apart)
            waiting.extend(reversed(part.content))
