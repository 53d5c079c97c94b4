"""Where elements are, relative to others."""

from collections.abc import Sequence

from mobiletest_automation.screen.elements import Element
from mobiletest_automation.sentences.intents import Relation

# Frames of iOS that touch each other overlap by so much.
_ROUNDING = 1


def gap_between(element: Element, anchor: Element, relation: Relation) -> float | None:
    """The distance from the anchor in the direction of the relation; None if the element is not in that direction."""
    this, other = element.bounds, anchor.bounds
    rows = min(this.bottom, other.bottom) - max(this.y, other.y) > _ROUNDING
    columns = min(this.right, other.right) - max(this.x, other.x) > _ROUNDING
    gaps = {
        Relation.BELOW: (columns, this.y - other.bottom),
        Relation.ABOVE: (columns, other.y - this.bottom),
        Relation.RIGHT_OF: (rows, this.x - other.right),
        Relation.LEFT_OF: (rows, other.x - this.right),
    }
    if relation is Relation.NEXT_TO:
        beside = [gaps[side] for side in (Relation.LEFT_OF, Relation.RIGHT_OF)]
        return min((max(gap, 0) for lined_up, gap in beside if lined_up and gap >= -_ROUNDING), default=None)
    lined_up, gap = gaps[relation]
    return max(gap, 0) if lined_up and gap >= -_ROUNDING else None


def nearest(elements: Sequence[tuple[float, Element]]) -> list[Element]:
    """The nearest of elements with their distances; several if they are equally near."""
    if not elements:
        return []
    least = min(distance for distance, _ in elements)
    return [element for distance, element in elements if distance == least]
