"""How elements lie to each other: in which direction, and in which row, card, list or dialog."""

from collections.abc import Sequence

from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.intents import Relation
from mobiletest_automation.sentences.name_tests import id_words, short_id

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


CONTAINER_ROLES = frozenset({Role.CELL, Role.DIALOG, Role.LIST})
_UNSPECIFIC_ROLES = frozenset({Role.OTHER, Role.TEXT, Role.IMAGE})
_DIALOG_WORDS = frozenset({"dialog", "popup", "modal", "alert", "sheet"})


def containers_of(elements: list[Element], roles: frozenset[Role], outline: Outline) -> list[Element]:
    """The dialogs, rows or lists around the elements; something clickable with several of them is a row too."""
    containers = outline.closest_ancestors(elements, lambda above: above.role in roles)
    kept = {container for container in containers if container is not None}
    if Role.CELL in roles:
        rows = {one: outline.row_around(one) for one, above in zip(elements, containers, strict=True) if above is None}
        kept |= {row for one, row in rows.items() if row is not one}
    if not kept and Role.DIALOG in roles:
        kept = _unmarked_dialogs(elements, outline)
    return outline.in_order(kept) or (holders_of(elements, outline) if Role.CELL in roles else [])


def _unmarked_dialogs(elements: list[Element], outline: Outline) -> set[Element]:
    """What lies above the rest of the screen, or else the outermost containers whose ids say that they are dialogs."""
    layer = outline.top_layer
    if layer is not None:
        return {layer} if outline.descendants_among(elements, {layer}) else set()
    called = {element for element in outline.visible if element.children and _is_called_dialog(element)}
    inner = set(outline.descendants_among(called, called))
    around = outline.closest_ancestors(elements, (called - inner).__contains__)
    return {container for container in around if container is not None}


def _is_called_dialog(element: Element) -> bool:
    """Dialogs without the role of one often have an id that says so."""
    return not _DIALOG_WORDS.isdisjoint(id_words(short_id(element.id)))


def holders_of(elements: list[Element], outline: Outline) -> list[Element]:
    """What is clickable without a role, of the elements or around them."""

    def holds(element: Element) -> bool:
        return element.clickable and element.role in _UNSPECIFIC_ROLES

    around = outline.closest_ancestors(elements, lambda above: above.tappable)
    held = (each if holds(each) else above for each, above in zip(elements, around, strict=True))
    return outline.in_order({each for each in held if each is not None and holds(each)})


def is_container(element: Element, outline: Outline) -> bool:
    """Whether only what is really inside it is "in" it: not so with a text, which stands for its container."""
    if element.role is Role.OTHER and element.clickable:
        return True
    return element.role in CONTAINER_ROLES or element is outline.top_layer or _is_called_dialog(element)
