"""Finds the elements that a phrase names: exact texts first, then regardless of case, then hints, labels and ids."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from services.executor.automation.screen.elements import Element, Role
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.intents import ElementReference, NameReading, Relation, RelativeReference
from services.executor.automation.sentences.name_tests import NameTest, id_words, name_tests, short_id

ElementFilter = Callable[[Element], bool]


def find_elements(
    target: ElementReference,
    outline: Outline,
    accepts: ElementFilter,
    *,
    whole_phrase: bool = False,
    by_text_only: bool = False,
) -> list[Element]:
    """The elements that the phrase names, in order; several if they match equally well.

    `accepts` selects the elements to consider. `whole_phrase`: only elements named exactly like the whole phrase count.
    `by_text_only`: ids do not count. An open dialog outranks what it covers.
    """
    levels = name_tests(target, outline, by_text_only=by_text_only)
    pool = [element for element in outline.visible if accepts(element)]
    layer = outline.top_layer
    above = outline.descendants_among(pool, {layer}) if layer is not None else []
    found = _find_in(above, target, outline, accepts, levels, whole_phrase=whole_phrase) if above else []
    return found or _find_in(pool, target, outline, accepts, levels, whole_phrase=whole_phrase)


def _find_in(
    pool: list[Element],
    target: ElementReference,
    outline: Outline,
    accepts: ElementFilter,
    levels: Sequence[NameTest],
    *,
    whole_phrase: bool,
) -> list[Element]:
    if whole_phrase:
        exact = [reading for reading in target.readings if reading.ordinal is None and reading.name]
        return _without_duplicates(_find_by_name(levels, exact, pool, outline), outline)
    plain = tuple(reading for reading in target.readings if reading.ordinal is None and reading.name)
    found = _find_by_name(levels, plain, pool, outline)
    for reading in target.readings:
        if not found and reading not in plain:
            found = _apply_ordinal(
                _without_duplicates(_find_by_name(levels, (reading,), pool, outline), outline), reading.ordinal
            )
    if not found and target.related is not None:
        found = _find_related(target.related, outline, accepts)
    return _without_duplicates(found, outline)


def _find_by_name(
    levels: Sequence[NameTest], readings: Sequence[NameReading], pool: list[Element], outline: Outline
) -> list[Element]:
    tabs = [replace(reading, roles=_TAB) for reading in readings if Role.TAB in reading.roles]
    for wanted in (tabs, readings):
        for fits in levels if wanted else ():
            for reading in wanted:
                named = [element for element in pool if fits(element, reading.name)]
                found = _filter_roles(named, reading.roles, outline)
                if found:
                    return found
    return []


_TAB = frozenset({Role.TAB})
"""A tab is one before anything else is."""


def _filter_roles(found: list[Element], roles: frozenset[Role], outline: Outline) -> list[Element]:
    """Those with one of the roles, or their containers: the "Blue mug" row is the row that contains that text.

    A clickable element without a role counts as a button or a link.
    """
    if not roles:
        return found
    exact = [element for element in found if element.role in roles]
    if exact:
        return exact
    if roles & _CONTAINER_ROLES:
        return _containers(found, roles, outline)
    if roles & _BUTTON_ROLES:
        return _holders(found, outline)
    return []


def _containers(found: list[Element], roles: frozenset[Role], outline: Outline) -> list[Element]:
    """The dialogs, rows or lists around the elements; something clickable with several of them is a row too."""
    containers = outline.closest_ancestors(found, lambda above: above.role in roles)
    kept = {container for container in containers if container is not None}
    if not kept and Role.DIALOG in roles:
        kept = _unmarked_dialogs(found, outline)
    return outline.in_order(kept) or (_holders(found, outline) if Role.CELL in roles else [])


def _unmarked_dialogs(found: list[Element], outline: Outline) -> set[Element]:
    """What lies above the rest of the screen, or else the outermost containers whose ids say that they are dialogs."""
    layer = outline.top_layer
    if layer is not None:
        return {layer} if outline.descendants_among(found, {layer}) else set()
    called = {element for element in outline.visible if element.children and _is_called_dialog(element)}
    inner = set(outline.descendants_among(called, called))
    around = outline.closest_ancestors(found, (called - inner).__contains__)
    return {container for container in around if container is not None}


def _is_called_dialog(element: Element) -> bool:
    """Dialogs without the role of one often have an id that says so."""
    return not _DIALOG_WORDS.isdisjoint(id_words(short_id(element.id)))


_DIALOG_WORDS = frozenset({"dialog", "popup", "modal", "alert", "sheet"})


def _holders(found: list[Element], outline: Outline) -> list[Element]:
    """What is clickable without a role, of the elements or around them."""

    def holds(element: Element) -> bool:
        return element.clickable and element.role in _UNSPECIFIC_ROLES

    around = outline.closest_ancestors(found, lambda above: above.tappable)
    held = (each if holds(each) else above for each, above in zip(found, around, strict=True))
    return outline.in_order({each for each in held if each is not None and holds(each)})


_CONTAINER_ROLES = frozenset({Role.CELL, Role.DIALOG, Role.LIST})


_BUTTON_ROLES = frozenset({Role.BUTTON, Role.LINK, Role.TAB})
_UNSPECIFIC_ROLES = frozenset({Role.OTHER, Role.TEXT, Role.IMAGE})


def _without_duplicates(found: list[Element], outline: Outline) -> list[Element]:
    """Without those that contain another one: a button and the text on it are one thing.

    The outer one stays if only it is tappable.
    """
    found = _without_shadows(found)
    among = set(found)
    innermost = outline.innermost(found)
    outer = outline.closest_ancestors(innermost, lambda above: above in among and above.tappable)
    kept = (each if each.tappable else above or each for each, above in zip(innermost, outer, strict=True))
    return outline.in_order(dict.fromkeys(kept))


def _without_shadows(found: list[Element]) -> list[Element]:
    """Without the area around a control, which iOS lists before it as another one with the same label and state."""
    shadows = {
        one
        for one, other in pairwise(found)
        if one.checked is not None
        and (one.role, one.label, one.checked) == (other.role, other.label, other.checked)
        and one.bounds.contains(other.bounds.center)
    }
    return [element for element in found if element not in shadows] if shadows else found


def _apply_ordinal(found: list[Element], ordinal: int | None) -> list[Element]:
    return found if ordinal is None else _nth(found, ordinal)


def _nth(found: list[Element], ordinal: int) -> list[Element]:
    position = ordinal - 1 if ordinal > 0 else len(found) + ordinal
    return [found[position]] if 0 <= position < len(found) else []


def _find_related(related: RelativeReference, outline: Outline, accepts: ElementFilter) -> list[Element]:
    anchors = find_anchors(related, outline)
    if len(anchors) != 1:
        return []
    anchor = anchors[0]
    ordinal = next((reading.ordinal for reading in related.this.readings if reading.ordinal is not None), None)
    found = find_elements(_without_ordinals(related.this), outline, accepts)
    around = {anchor, *outline.ancestors(anchor)}
    others = [element for element in found if element not in around]
    if anchor in found and related.relation in (Relation.INSIDE, Relation.IN_ROW_OF):
        return [anchor]
    if related.relation is Relation.INSIDE and _is_container(anchor, outline):
        return _apply_ordinal(outline.descendants_among(others, {anchor}), ordinal)
    if related.relation is Relation.INSIDE:
        return _apply_ordinal(_in_innermost_container(others, anchor, outline), ordinal)
    if related.relation is Relation.IN_ROW_OF:
        return _apply_ordinal(_in_row_of(others, anchor, outline), ordinal)
    gaps = [(gap, each) for each in others if (gap := gap_between(each, anchor, related.relation)) is not None]
    if ordinal is not None:
        return _nth([element for _, element in sorted(gaps, key=lambda pair: pair[0])], ordinal)
    if not gaps and related.relation is Relation.NEXT_TO:
        row = outline.row_of(anchor)
        return outline.descendants_among(others, {row}) if row is not None else []
    return nearest(gaps)


def _is_container(element: Element, outline: Outline) -> bool:
    """Whether only what is really inside it is "in" it: not so with a text, which stands for its container."""
    return element.role in _CONTAINER_ROLES or element is outline.top_layer or _is_called_dialog(element)


def find_anchors(related: RelativeReference, outline: Outline) -> list[Element]:
    """The elements that the anchor may be. A text stands for itself, not for the field that it labels."""
    found = find_elements(related.anchor, outline, lambda element: True)
    texts = [each for each in found if each.text and not each.editable and each.checked is None]
    return texts if len(found) > 1 and texts else found


def _in_row_of(found: list[Element], anchor: Element, outline: Outline) -> list[Element]:
    """Those in the anchor's row; without rows, those beside it."""
    cell = next((each for each in (anchor, *outline.ancestors(anchor)) if each.role is Role.CELL), None)
    row = cell or outline.row_of(anchor)
    if row is not None:
        return outline.descendants_among(found, {row})
    return [element for element in found if gap_between(element, anchor, Relation.NEXT_TO) is not None]


def _without_ordinals(target: ElementReference) -> ElementReference:
    return replace(target, readings=tuple(replace(reading, ordinal=None) for reading in target.readings))


def _in_innermost_container(found: list[Element], anchor: Element, outline: Outline) -> list[Element]:
    """Those inside the anchor or its innermost possible container, which is within its row and not the whole screen."""
    containers = [anchor, *outline.ancestors(anchor)][:-1]
    row_of = outline.row_of(anchor)
    rows = (place for place, each in enumerate(containers) if each.role is Role.CELL or each is row_of)
    row = next(rows, len(containers))
    places = {container: place for place, container in enumerate(containers[: row + 1])}
    around = outline.closest_ancestors(found, places.__contains__)
    return nearest([(places[above], each) for each, above in zip(found, around, strict=True) if above is not None])


def gap_between(element: Element, anchor: Element, relation: Relation) -> float | None:
    """The distance from the anchor in the direction of the relation; None if the element is not in that direction."""
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


def nearest(found: Sequence[tuple[float, Element]]) -> list[Element]:
    """The nearest of elements with their distances; several if they are equally near."""
    if not found:
        return []
    least = min(distance for distance, _ in found)
    return [element for distance, element in found if distance == least]
