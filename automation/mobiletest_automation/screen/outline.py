"""The outline of a screen: an index of its tree of elements."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from mobiletest_automation.screen.elements import Element, Role, walk

# This many siblings of one role, each with children, are rows of a list.
_CARDS = 3

# The share of the screen that a layer covers.
_FULL = 0.9


# Rows differ at most by this factor in width and in height.
_ALIKE = 4


def are_rows(elements: Sequence[Element]) -> bool:
    """Whether the elements side by side are rows: all of one role, each with children, and of similar sizes."""
    if len(elements) < _CARDS or len({each.role for each in elements}) > 1:
        return False
    sizes = [each.bounds for each in elements]
    return (
        all(each.children for each in elements)
        and max(size.width for size in sizes) <= _ALIKE * min(size.width for size in sizes)
        and max(size.height for size in sizes) <= _ALIKE * min(size.height for size in sizes)
    )


def _boxes(element: Element) -> tuple[Element, ...]:
    """The children without the titles, buttons and other single elements before and after them."""
    boxes = [place for place, child in enumerate(element.children) if child.children]
    return element.children[boxes[0] : boxes[-1] + 1] if boxes else ()


def _is_sideways(element: Element) -> bool:
    """Whether its children are side by side: the cards of a carousel, or the columns of a row."""
    first, *others = (child.bounds for child in element.children)
    return all(min(first.bottom, each.bottom) - max(first.y, each.y) > 0 for each in others) and first.height > 0


def _shows_inside(element: Element) -> bool:
    return any(child.visible for child in element.children)


class Outline:
    """An index of a tree: visible elements in order, ancestors and neighbours."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self._parents: dict[Element, Element] = {}
        self._before: dict[Element, Element] = {}
        self._order: dict[Element, int] = {}
        for position, element in enumerate(walk(root)):
            self._order[element] = position
            if element.children:
                self._parents.update(dict.fromkeys(element.children, element))
                self._before.update(pairwise(reversed(element.children)))

    @cached_property
    def visible(self) -> tuple[Element, ...]:
        """The visible elements without the screen itself; descendants of a hidden element are not visible.

        A line shows nothing, so it does not count unless something visible is inside.
        """
        return tuple(each for each in self.selectable if not each.bounds.is_line or _shows_inside(each))

    @cached_property
    def selectable(self) -> tuple[Element, ...]:
        """What selectors of commands look for: the visible elements, and lines that are on the screen."""
        shown: dict[Element, None] = {}
        for element in self._order:
            parent = self._parents.get(element)
            if element.visible and (parent is None or parent in shown):
                shown[element] = None
        return tuple(shown)[1:]

    @cached_property
    def _in_order(self) -> tuple[Element, ...]:
        return tuple(self._order)

    @cached_property
    def _tappable(self) -> set[Element]:
        elements: set[Element] = set()
        for element in self._order:
            if element.tappable or self._parents.get(element) in elements:
                elements.add(element)
        return elements

    def parent(self, element: Element) -> Element | None:
        return self._parents.get(element)

    def ancestors(self, element: Element) -> list[Element]:
        """The innermost first."""
        ancestors = []
        while (parent := self._parents.get(element)) is not None:
            ancestors.append(parent)
            element = parent
        return ancestors

    def ancestors_of_all(self, elements: Iterable[Element]) -> set[Element]:
        ancestors: set[Element] = set()
        for element in elements:
            parent = self._parents.get(element)
            while parent is not None and parent not in ancestors:
                ancestors.add(parent)
                parent = self._parents.get(parent)
        return ancestors

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
        """For each of the elements the innermost ancestor that is accepted; each element is climbed from once."""
        closest: dict[Element | None, Element | None] = {None: None}
        for element in elements:
            below: list[Element] = []
            above: Element | None = element
            while above is not None and above not in closest:
                below.append(above)
                above = self._parents.get(above)
            for each in reversed(below):
                parent = self._parents.get(each)
                closest[each] = parent if parent is not None and accepts(parent) else closest[parent]
        return [closest[element] for element in elements]

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

    def row_around(self, element: Element) -> Element:
        """The row that contains the element; itself, if it is a cell or in no row."""
        return element if element.role is Role.CELL else self._rows.get(element, element)

    def rows_around(self, element: Element) -> list[Element]:
        """The rows that are or contain the element, the innermost first: a row may have rows in it."""
        return [each for each in (element, *self.ancestors(element)) if self._rows.get(each) is each]

    @cached_property
    def _rows(self) -> dict[Element, Element]:
        """The row of each element that has one."""
        rows: dict[Element, Element] = {}
        lists = {element for element in self._order if element.role is Role.LIST or are_rows(_boxes(element))}
        in_lists = {row for each in lists for row in (each.children if each.role is Role.LIST else _boxes(each))}
        sideways = {each for each in lists if each.role is not Role.LIST and _is_sideways(each)}
        for element in self._order:
            parent = self._parents.get(element)
            if parent in sideways and (parent in rows or self._has_twin(parent, sideways)):
                rows[element] = rows.setdefault(parent, parent)
            elif element.role is Role.CELL or (element.role is not Role.LIST and element in in_lists):
                rows[element] = element
            elif parent in rows:
                rows[element] = rows[parent]
        return rows

    def _has_twin(self, element: Element, alike: set[Element]) -> bool:
        """Whether a sibling is alike too."""
        above = self._parents.get(element)
        return above is not None and sum(each in alike for each in above.children) > 1

    @cached_property
    def top_layer(self) -> Element | None:
        """The open dialog, or what covers the whole screen; None if nothing is covered."""
        dialogs = [element for element in self.visible if element.role is Role.DIALOG]
        if dialogs:
            return dialogs[-1]
        boxes = (element for element in reversed(self.visible) if element.children)
        return next(filter(self._covers_others, boxes), None)

    def _covers_others(self, element: Element) -> bool:
        """Whether it fills the screen after a sibling that does so too."""
        before = self._before.get(element)
        return (
            before is not None
            and before.visible
            and all(each.children and self.fills_screen(each) for each in (before, element))
        )

    def fills_screen(self, element: Element) -> bool:
        """Whether it covers (nearly) the whole screen."""
        shown, screen = element.bounds.intersection(self.root.bounds), self.root.bounds
        return shown is not None and shown.width * shown.height >= _FULL * screen.width * screen.height

    def label_beside(self, element: Element) -> str:
        """The text directly before the element in the same container, and beside or above it where it has a place."""
        before = self._before.get(element)
        if before is None or not before.visible or before.role not in (Role.TEXT, Role.HEADING):
            return ""
        this, other = element.bounds, before.bounds
        apart = other.x >= this.right or (other.right <= this.x and (other.bottom <= this.y or other.y >= this.bottom))
        return "" if apart and this.height and other.height and not element.tag else before.text

    def between(self, one: Element, other: Element) -> list[Element]:
        """The visible elements after one and before the other, in the order of the source."""
        first, last = self._order[one], self._order[other]
        return [each for each in self._in_order[first + 1 : last] if each.visible]

    def in_order(self, elements: Iterable[Element]) -> list[Element]:
        return sorted(elements, key=self._order.__getitem__)
