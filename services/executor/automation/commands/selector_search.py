"""Finds the elements that match a selector of a command, as Maestro does."""

from collections.abc import Callable, Iterable

from services.executor.automation.screen.elements import Element, Point
from services.executor.automation.screen.outline import Outline
from services.flows.patterns import Pattern, WorkBudget
from services.flows.selectors import Selector

DirectionTest = Callable[[Element, Element], bool]

_DIRECTIONS: dict[str, DirectionTest] = {
    "below": lambda this, other: this.bounds.y > other.bounds.y,
    "above": lambda this, other: this.bounds.y < other.bounds.y,
    "left_of": lambda this, other: this.bounds.x < other.bounds.x,
    "right_of": lambda this, other: this.bounds.x > other.bounds.x,
}
_STATES = ("enabled", "checked", "focused", "selected")
_TRAITS: dict[str, Callable[[Element], bool]] = {
    "text": lambda element: bool(element.text),
    "long-text": lambda element: len(element.text) > 200,
    "square": lambda element: abs(element.bounds.width - element.bounds.height) <= 0.03 * element.bounds.width,
}
SIMPLER_SELECTOR_HINT = "use fewer relative positions or a simpler regular expression"

_ELEMENT_COST = 4
_CONTAINER_COST = 20
"""The costs of testing an element and of reading its containers, in units of a WorkBudget."""


def find_by_selector(selector: Selector, outline: Outline) -> list[Element]:
    """The visible elements that match, the best first.

    Of nested elements only the innermost counts; the screen itself counts if something has to be in the element.
    `index` counts from the top of the screen; without it tappable elements come first, and of a relative position the
    nearest. Raises WorkBudgetExceeded for a selector that takes too long.
    """
    found = _Search(outline).find(selector)
    return found if selector.index is not None else sorted(found, key=lambda element: not outline.tappable(element))


class _Search:
    """One search on one screen, within a work budget."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._work = WorkBudget()

    def find(self, selector: Selector, *, or_screen: bool = False) -> list[Element]:
        """The innermost that match, or the one at the index."""
        found = self._matching(selector, or_screen=or_screen)
        self._work.spend(len(found) * _CONTAINER_COST)
        return _apply_index(selector, self._outline.innermost(found))

    def _matching(self, selector: Selector, *, or_screen: bool = False) -> list[Element]:
        outline = self._outline
        or_screen = or_screen or selector.contains_child is not None or selector.contains_descendants is not None
        pool = (outline.root, *outline.visible) if or_screen else outline.visible
        self._work.spend(len(pool) * _ELEMENT_COST)
        found = [element for element in pool if self._matches(selector, element)]
        for name, beside in _DIRECTIONS.items():
            other = getattr(selector, name)
            if other is not None:
                found = self._in_direction(found, self.find(other), beside)
        if selector.child_of is not None:
            self._work.spend(len(found) * _CONTAINER_COST)
            found = outline.descendants_among(found, set(self.find(selector.child_of, or_screen=True)))
        if selector.contains_child is not None:
            children = set(self._matching_all(selector.contains_child))
            found = [element for element in found if any(child in children for child in element.children)]
        if selector.contains_descendants is not None:
            containers = [outline.ancestors_of_all(self._matching_all(each)) for each in selector.contains_descendants]
            found = [element for element in found if all(element in each for each in containers)]
        return found

    def _matching_all(self, selector: Selector) -> list[Element]:
        """All that match, nested ones too, or the one at the index."""
        found = self._matching(selector)
        self._work.spend(len(found) * _CONTAINER_COST)
        return _apply_index(selector, found)

    def _matches(self, selector: Selector, element: Element) -> bool:
        texts = (element.text, element.label, element.hint)
        if selector.text is not None and not self._matches_text(selector.text, texts):
            return False
        if selector.id is not None and not self._matches_text(selector.id, _ids(element)):
            return False
        if selector.css is not None and selector.css not in element.css:
            return False
        if not _has_size(selector, element) or not all(_TRAITS[trait](element) for trait in selector.traits or ()):
            return False
        wanted = ((getattr(selector, name), getattr(element, name)) for name in _STATES)
        return all(state is None or state == bool(held) for state, held in wanted)

    def _matches_text(self, pattern: Pattern, texts: Iterable[str]) -> bool:
        return any(text and pattern.matches(text, self._work) for text in texts)

    def _in_direction(self, found: list[Element], others: list[Element], beside: DirectionTest) -> list[Element]:
        """The elements in that direction of one of the others, the nearest first."""
        self._work.spend(len(found) * len(others))
        places = [(other, other.bounds.center) for other in others]
        gaps = ((_nearest_distance(element, places, beside), element) for element in found)
        beside_one = [(gap, element) for gap, element in gaps if gap is not None]
        return [element for _, element in sorted(beside_one, key=lambda pair: pair[0])]


def _apply_index(selector: Selector, found: list[Element]) -> list[Element]:
    if selector.index is None:
        return found
    ordered = sorted(found, key=lambda element: (element.bounds.y, element.bounds.x))
    place = selector.index + (len(ordered) if selector.index < 0 else 0)
    return ordered[place : place + 1] if place >= 0 else []


def _has_size(selector: Selector, element: Element) -> bool:
    sizes = ((selector.width, element.bounds.width), (selector.height, element.bounds.height))
    return all(wanted is None or abs(wanted - size) <= (selector.tolerance or 0) for wanted, size in sizes)


def _ids(element: Element) -> tuple[str, ...]:
    """The id, its part after the slash, and the full resource id."""
    return element.id, element.id.rsplit("/", 1)[-1], element.attributes.get("resource-id", "")


def _nearest_distance(element: Element, others: list[tuple[Element, Point]], beside: DirectionTest) -> float | None:
    """The squared distance to the nearest of the others in that direction; None if there is none."""
    x, y = element.bounds.center.x, element.bounds.center.y
    return min(
        ((x - at.x) ** 2 + (y - at.y) ** 2 for other, at in others if beside(element, other) and element is not other),
        default=None,
    )
