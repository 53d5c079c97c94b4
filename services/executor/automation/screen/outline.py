"""The outline of a screen: an index of its tree of elements."""

from collections.abc import Collection, Iterable
from functools import cached_property

from services.executor.automation.screen.elements import Element, Role, walk


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
        return tuple(element for element in self._order if element is not self.root and self._shown(element))

    def _shown(self, element: Element) -> bool:
        return element.visible and all(each.visible for each in self.ancestors(element))

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
        return {ancestor for element in elements for ancestor in self.ancestors(element)}

    def innermost(self, elements: Collection[Element]) -> list[Element]:
        """Those that are not ancestors of others."""
        ancestors = self.ancestors_of_all(elements)
        return [element for element in elements if element not in ancestors]

    def descendants_among(self, elements: Iterable[Element], containers: set[Element]) -> list[Element]:
        """Those with one of `containers` as an ancestor."""
        return [element for element in elements if not containers.isdisjoint(self.ancestors(element))]

    def tappable(self, element: Element) -> bool:
        """Whether the element or an ancestor is meant to be tapped."""
        return element.tappable or any(each.tappable for each in self.ancestors(element))

    def label_beside(self, element: Element) -> str:
        """The text directly before the element in the same container."""
        before = self._before.get(element)
        labels = before is not None and before.visible and before.role in (Role.TEXT, Role.HEADING)
        return before.text if before is not None and labels else ""

    def in_order(self, elements: Iterable[Element]) -> list[Element]:
        return sorted(elements, key=self._order.__getitem__)
