"""The outline of a screen: an index of its tree of elements."""

from collections.abc import Callable, Collection, Iterable
from functools import cached_property

from services.executor.automation.screen.elements import Element, Role, walk

_CARDS = 3
"""This many siblings of one role, each with children, are rows of a list."""

_FULL = 0.9
"""The share of the screen that a layer covers."""


_ALIKE = 4
"""Rows differ at most by this factor in width and in height."""


def has_rows(element: Element) -> bool:
    """Whether its children are rows: all of one role, each with children, and of similar sizes."""
    children = element.children
    if len(children) < _CARDS or len({child.role for child in children}) > 1:
        return False
    sizes = [child.bounds for child in children]
    return (
        all(child.children for child in children)
        and max(size.width for size in sizes) <= _ALIKE * min(size.width for size in sizes)
        and max(size.height for size in sizes) <= _ALIKE * min(size.height for size in sizes)
    )


class Outline:
    """An index of a tree: visible elements in order, ancestors and neighbours."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self._parents: dict[Element, Element] = {}
        self._before: dict[Element, Element] = {}
        self._order: dict[Element, int] = {}
        for position, element in enumerate(walk(root)):
            self._order[element] = position
            for child in element.children:
                self._parents[child] = element
            self._before.update(zip(element.children[1:], element.children, strict=False))

    @cached_property
    def visible(self) -> tuple[Element, ...]:
        """The visible elements without the screen itself; descendants of a hidden element are not visible."""
        shown: dict[Element, None] = {}
        for element in self._order:
            parent = self._parents.get(element)
            if element.visible and (parent is None or parent in shown):
                shown[element] = None
        return tuple(shown)[1:]

    @cached_property
    def _tappable(self) -> set[Element]:
        found: set[Element] = set()
        for element in self._order:
            if element.tappable or self._parents.get(element) in found:
                found.add(element)
        return found

    def parent(self, element: Element) -> Element | None:
        return self._parents.get(element)

    def ancestors(self, element: Element) -> list[Element]:
        """The innermost first."""
        found = []
        while (parent := self._parents.get(element)) is not None:
            found.append(parent)
            element = parent
        return found

    def ancestors_of_all(self, elements: Iterable[Element]) -> set[Element]:
        found: set[Element] = set()
        for element in elements:
            parent = self._parents.get(element)
            while parent is not None and parent not in found:
                found.add(parent)
                parent = self._parents.get(parent)
        return found

    def innermost(self, elements: Collection[Element]) -> list[Element]:
        """Those that are not ancestors of others."""
        ancestors = self.ancestors_of_all(elements)
        return [element for element in elements if element not in ancestors]

    def descendants_among(self, elements: Iterable[Element], containers: set[Element]) -> list[Element]:
        """Those with one of `containers` as an ancestor."""
        inside: set[Element | None] = set()
        for element in self._order:
            parent = self._parents.get(element)
            if parent in containers or parent in inside:
                inside.add(element)
        return [element for element in elements if element in inside]

    def tappable(self, element: Element) -> bool:
        """Whether the element or an ancestor is meant to be tapped."""
        return element in self._tappable

    def closest_ancestors(
        self, elements: Collection[Element], accepts: Callable[[Element], bool]
    ) -> list[Element | None]:
        """For each of the elements the innermost ancestor that is accepted; each ancestor is asked about once."""
        found: dict[Element | None, Element | None] = {None: None}
        for element in self._order if elements else ():
            parent = self._parents.get(element)
            found[element] = parent if parent is not None and accepts(parent) else found[parent]
        return [found[element] for element in elements]

    def size_of(self, element: Element) -> int:
        """How many elements it consists of, with itself."""
        return self._sizes[element]

    @cached_property
    def _sizes(self) -> dict[Element, int]:
        sizes: dict[Element, int] = {}
        for element in reversed(self._order):
            sizes[element] = 1 + sum(sizes[child] for child in element.children)
        return sizes

    def row_of(self, element: Element) -> Element | None:
        """The innermost row that is or contains the element."""
        return self._rows.get(element)

    @cached_property
    def _rows(self) -> dict[Element, Element]:
        """The row of each element that has one."""
        rows: dict[Element, Element] = {}
        lists = {element for element in self._order if element.role is Role.LIST or has_rows(element)}
        for element in self._order:
            parent = self._parents.get(element)
            if element.role is Role.CELL or (element.role is not Role.LIST and parent in lists):
                rows[element] = element
            elif parent in rows:
                rows[element] = rows[parent]
        return rows

    @cached_property
    def top_layer(self) -> Element | None:
        """The open dialog, or what covers the whole screen; None if nothing is covered."""
        dialogs = [element for element in self.visible if element.role is Role.DIALOG]
        covers = dialogs or [element for element in self.visible if self._covers_others(element)]
        return covers[-1] if covers else None

    def _covers_others(self, element: Element) -> bool:
        """Whether it fills the screen after a sibling that does so too."""
        before = self._before.get(element)
        return (
            before is not None
            and before.visible
            and all(each.children and self._fills_screen(each) for each in (before, element))
        )

    def _fills_screen(self, element: Element) -> bool:
        shown, screen = element.bounds.intersection(self.root.bounds), self.root.bounds
        return shown is not None and shown.width * shown.height >= _FULL * screen.width * screen.height

    def label_beside(self, element: Element) -> str:
        """The text directly before the element in the same container."""
        before = self._before.get(element)
        labels = before is not None and before.visible and before.role in (Role.TEXT, Role.HEADING)
        return before.text if before is not None and labels else ""

    def in_order(self, elements: Iterable[Element]) -> list[Element]:
        return sorted(elements, key=self._order.__getitem__)
