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
        return all(above.visible for above in (element, *self.above(element)))

    def above(self, element: Element) -> list[Element]:
        """The ancestors of an element, the innermost first."""
        found = []
        parent = self._parents.get(element)
        while parent is not None:
            found.append(parent)
            parent = self._parents.get(parent)
        return found

    def inside(self, element: Element, outer: Element) -> bool:
        return outer in self.above(element)

    def innermost(self, found: Iterable[Element]) -> list[Element]:
        """Those that are not ancestors of others."""
        kept = list(found)
        holders = self.holders(kept)
        return [element for element in kept if element not in holders]

    def holders(self, found: Iterable[Element]) -> set[Element]:
        """All ancestors of these elements."""
        return {above for element in found for above in self.above(element)}

    def within(self, found: Iterable[Element], holders: Collection[Element]) -> list[Element]:
        """Those with one of `holders` as an ancestor."""
        return [element for element in found if any(above in holders for above in self.above(element))]

    def tappable(self, element: Element) -> bool:
        """Whether the element or an ancestor is meant to be tapped."""
        return element.tappable or any(above.tappable for above in self.above(element))

    def label_beside(self, element: Element) -> str:
        """The text directly before the element in the same container."""
        before = self._before.get(element)
        labels = before is not None and before.visible and before.role in (Role.TEXT, Role.HEADING)
        return before.text if before is not None and labels else ""

    def in_order(self, elements: Iterable[Element]) -> list[Element]:
        return sorted(elements, key=self._order.__getitem__)
