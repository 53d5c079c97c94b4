"""Finds the elements that a selector of a command means, as Maestro does."""

from collections.abc import Callable

from services.executor.automation.elements import Element
from services.executor.automation.sentences.matching import Outline
from services.flows.pattern import Pattern
from services.flows.selectors import Selector

Beside = Callable[[Element, Element], bool]

_BESIDE: dict[str, Beside] = {
    "below": lambda this, other: this.bounds.y > other.bounds.y,
    "above": lambda this, other: this.bounds.y < other.bounds.y,
    "left_of": lambda this, other: this.bounds.x < other.bounds.x,
    "right_of": lambda this, other: this.bounds.x > other.bounds.x,
}
_STATES = ("enabled", "checked", "focused", "selected")


def select(selector: Selector, outline: Outline) -> list[Element]:
    """The visible elements that fit, the one that is meant first.

    Of elements inside one another only the innermost count. `index` counts from the top of the screen; without it what
    is made for tapping comes first, and where a position is said, what is nearest.
    """
    found = _fitting(selector, outline)
    if selector.index is not None:
        ordered = sorted(found, key=lambda element: (element.bounds.y, element.bounds.x))
        return ordered[selector.index : selector.index + 1]
    return sorted(found, key=lambda element: not outline.tappable(element))


def _fitting(selector: Selector, outline: Outline, *, or_screen: bool = False) -> list[Element]:
    pool = (outline.root, *outline.visible) if or_screen else outline.visible
    found = [element for element in pool if _fits(selector, element)]
    for name in _BESIDE:
        other = getattr(selector, name)
        if other is not None:
            found = _beside(found, _fitting(other, outline), _BESIDE[name])
    if selector.child_of is not None:
        found = outline.within(found, set(_fitting(selector.child_of, outline, or_screen=True)))
    if selector.contains_child is not None:
        children = set(_matching(selector.contains_child, outline))
        found = [element for element in found if any(child in children for child in element.children)]
    if selector.contains_descendants is not None:
        holders = [outline.holders(_matching(each, outline)) for each in selector.contains_descendants]
        found = [element for element in found if all(element in each for each in holders)]
    return outline.innermost(found)


def _matching(selector: Selector, outline: Outline) -> list[Element]:
    return [element for element in outline.visible if _fits(selector, element)]


def _fits(selector: Selector, element: Element) -> bool:
    if selector.text is not None and not _reads(selector.text, element):
        return False
    if selector.id is not None and not _has_id(selector.id, element):
        return False
    if not _has_size(selector, element):
        return False
    wanted = ((getattr(selector, name), getattr(element, name)) for name in _STATES)
    return all(state is None or state == bool(held) for state, held in wanted)


def _has_size(selector: Selector, element: Element) -> bool:
    sizes = ((selector.width, element.bounds.width), (selector.height, element.bounds.height))
    return all(wanted is None or abs(wanted - size) <= (selector.tolerance or 0) for wanted, size in sizes)


def _reads(pattern: Pattern, element: Element) -> bool:
    return any(text and pattern.matches(text) for text in (element.text, element.label, element.hint))


def _has_id(pattern: Pattern, element: Element) -> bool:
    """By the id, by what of it stands behind the slash, or by the resource id in full."""
    ids = (element.id, element.id.rsplit("/", 1)[-1], element.attributes.get("resource-id", ""))
    return any(each and pattern.matches(each) for each in ids)


def _beside(found: list[Element], others: list[Element], beside: Beside) -> list[Element]:
    """Those in that direction of one of the others, the nearest first."""
    apart = ((element, _nearest(element, others, beside)) for element in found)
    placed = [(distance, element) for element, distance in apart if distance is not None]
    return [element for _, element in sorted(placed, key=lambda pair: pair[0])]


def _nearest(element: Element, others: list[Element], beside: Beside) -> float | None:
    """How far the nearest one is that it is beside of; None if there is none."""
    distances = (_distance(element, other) for other in others if element is not other and beside(element, other))
    return min(distances, default=None)


def _distance(one: Element, other: Element) -> float:
    here, there = one.bounds.center, other.bounds.center
    return (here.x - there.x) ** 2 + (here.y - there.y) ** 2
