"""The outline of a screen: its tree made ready for looking things up."""

from collections.abc import Collection, Iterable
from functools import cached_property

from services.executor.automation.screen.elements import Element, Role, walk


class Outline:
    """A tree made ready for looking things up: its visible elements in order, and who is inside whom."""

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
        """What can be seen, but for the screen itself; what is inside something hidden cannot."""
        return tuple(element for element in self._order if element is not self.root and self._shown(element))

    def _shown(self, element: Element) -> bool:
        return all(above.visible for above in (element, *self.above(element)))

    def above(self, element: Element) -> list[Element]:
        """What the element is inside of, the innermost first."""
        found = []
        parent = self._parents.get(element)
        while parent is not None:
            found.append(parent)
            parent = self._parents.get(parent)
        return found

    def inside(self, element: Element, outer: Element) -> bool:
        return outer in self.above(element)

    def innermost(self, found: Iterable[Element]) -> list[Element]:
        """Those that hold no other one of them."""
        kept = list(found)
        holders = self.holders(kept)
        return [element for element in kept if element not in holders]

    def holders(self, found: Iterable[Element]) -> set[Element]:
        """All that any of them is inside of."""
        return {above for element in found for above in self.above(element)}

    def within(self, found: Iterable[Element], holders: Collection[Element]) -> list[Element]:
        """Those that are inside one of the holders."""
        return [element for element in found if any(above in holders for above in self.above(element))]

    def tappable(self, element: Element) -> bool:
        """Whether a tap on the element reaches something that is made for it."""
        return element.tappable or any(above.tappable for above in self.above(element))

    def label_beside(self, element: Element) -> str:
        """The text that stands directly before the element, in the same container."""
        before = self._before.get(element)
        labels = before is not None and before.visible and before.role in (Role.TEXT, Role.HEADING)
        return before.text if before is not None and labels else ""

    def in_order(self, elements: Iterable[Element]) -> list[Element]:
        return sorted(elements, key=self._order.__getitem__)
