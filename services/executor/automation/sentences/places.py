"""Where elements are, seen from one another."""

from services.executor.automation.elements import Element
from services.executor.automation.sentences.intents import Relation


def apart(element: Element, anchor: Element, relation: Relation) -> float | None:
    """How far the element is from the anchor in the direction of the relation; None if it is not there."""
    this, other = element.bounds, anchor.bounds
    rows = min(this.bottom, other.bottom) - max(this.y, other.y) > 0
    columns = min(this.right, other.right) - max(this.x, other.x) > 0
    gaps = {
        Relation.BELOW: (columns, this.y - other.bottom),
        Relation.ABOVE: (columns, other.y - this.bottom),
        Relation.RIGHT_OF: (rows, this.x - other.right),
        Relation.LEFT_OF: (rows, other.x - this.right),
    }
    if relation is Relation.NEXT_TO:
        beside = [gaps[side] for side in (Relation.LEFT_OF, Relation.RIGHT_OF)]
        return min((gap for lined_up, gap in beside if lined_up and gap >= 0), default=None)
    lined_up, gap = gaps[relation]
    return gap if lined_up and gap >= 0 else None


def nearest(found: list[tuple[float, Element]]) -> list[Element]:
    """Of elements with their distances, the one that is nearest; all that are equally near."""
    if not found:
        return []
    least = min(distance for distance, _ in found)
    return [element for distance, element in found if distance == least]
