"""Finds the elements that a phrase names: exact texts first, then regardless of case, then hints, labels and ids."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.intents import ElementReference, NameReading, Relation, RelativeReference
from mobiletest_automation.sentences.name_tests import NameTest, name_tests
from mobiletest_automation.sentences.regions import Region, memberships
from mobiletest_automation.sentences.relations import (
    CONTAINER_ROLES,
    containers_of,
    gap_between,
    holders_of,
    is_container,
    nearest,
)
from mobiletest_automation.sentences.targets import may_say_more

ElementFilter = Callable[[Element], bool]


def find_elements(
    target: ElementReference,
    outline: Outline,
    accepts: ElementFilter,
    *,
    whole_phrase: bool = False,
    by_text_only: bool = False,
    everywhere: bool = False,
) -> list[Element]:
    """The elements that the phrase names, in order; several if they match equally well.

    `accepts` selects the elements to consider. `whole_phrase`: only elements named exactly like the whole phrase count.
    `by_text_only`: ids do not count. An open dialog outranks what it covers, but for a search `everywhere`.
    """
    levels = name_tests(target, outline, by_text_only=by_text_only)
    pool = [element for element in outline.visible if accepts(element)]
    layer = None if everywhere else outline.top_layer
    above = outline.descendants_among(pool, {layer}) if layer is not None else []
    elements = _find_in(above, target, outline, accepts, levels, whole_phrase=whole_phrase) if above else []
    return elements or _find_in(pool, target, outline, accepts, levels, whole_phrase=whole_phrase)


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
        named = _without_duplicates(_find_by_name(levels, exact, pool, outline), outline)
        if named or target.related is None or target.quoted:
            return named
        return _find_related(target.related, outline, accepts, whole_phrase=True)
    plain = tuple(reading for reading in target.readings if reading.ordinal is None and reading.name)
    elements = _find_by_name(levels, plain, pool, outline)
    for reading in target.readings:
        if not elements and reading not in plain:
            elements = _without_duplicates(_find_by_name(levels, (reading,), pool, outline), outline)
            counted = elements if reading.name or reading.roles != _ROWS else _rows_to_count(elements, outline)
            elements = _apply_ordinal(counted, reading.ordinal) if counted or len(elements) == 1 else elements
    if not elements and target.related is not None:
        elements = _find_related(target.related, outline, accepts)
    return _without_duplicates(elements, outline)


_ROWS = frozenset({Role.CELL})
_ANDROID_ID = ":id/"


def _rows_to_count(elements: list[Element], outline: Outline) -> list[Element]:
    """The rows of the only list that is no menu; none if several lists, or only some kinds of rows, may be meant."""
    menus = memberships(Region.MENU, elements, outline)
    rows = [each for each, in_menu in zip(elements, menus, strict=True) if not in_menu]
    heads = outline.closest_ancestors(rows, lambda above: above.tag == "thead")
    rows = [each for each, head in zip(rows, heads, strict=True) if head is None]
    lists = outline.closest_ancestors(rows, lambda above: above.role is Role.LIST)
    one = len({above or outline.parent(row) for row, above in zip(rows, lists, strict=True)}) == 1
    alike = len({row.id for row in rows if _ANDROID_ID in row.id}) <= 1
    return rows if one and alike and (len(rows) > 1 or not rows[0].tag) else []


def _find_by_name(
    levels: Sequence[NameTest], readings: Sequence[NameReading], pool: list[Element], outline: Outline
) -> list[Element]:
    tabs = [replace(reading, roles=_TAB) for reading in readings if Role.TAB in reading.roles]
    for wanted in (tabs, readings):
        for fits in levels if wanted else ():
            for reading in wanted:
                named = [element for element in pool if fits(element, reading.name)]
                elements = (
                    _filter_roles(named, reading.roles, outline)
                    if reading.name
                    else _of_roles(named, reading.roles, outline)
                )
                if elements:
                    return elements
    return []


# A tab is one before anything else is.
_TAB = frozenset({Role.TAB})


def _of_roles(elements: list[Element], roles: frozenset[Role], outline: Outline) -> list[Element]:
    """Without a name, what is clickable is no row or link. Where there are switches, checkboxes are none."""
    wanted = _SWITCH if Role.SWITCH in roles and any(each.role is Role.SWITCH for each in elements) else roles
    exact = [each for each in elements if each.role in wanted]
    return exact if exact or roles in (_ROWS, _LINK) else _filter_roles(elements, roles, outline)


_SWITCH, _LINK = frozenset({Role.SWITCH}), frozenset({Role.LINK})


def _filter_roles(elements: list[Element], roles: frozenset[Role], outline: Outline) -> list[Element]:
    """Those with one of the roles, or their containers: the "Blue mug" row is the row that contains that text.

    A clickable element without a role counts as a button or a link.
    """
    if not roles:
        return elements
    exact = [element for element in elements if element.role in roles]
    if exact:
        return exact
    if roles & CONTAINER_ROLES:
        return containers_of(elements, roles, outline)
    if roles & _BUTTON_ROLES:
        return holders_of(elements, outline)
    return []


_BUTTON_ROLES = frozenset({Role.BUTTON, Role.LINK, Role.TAB})


def _without_duplicates(elements: list[Element], outline: Outline) -> list[Element]:
    """Without those that contain another one: a button and the text on it are one thing.

    The outer one stays if only it is tappable.
    """
    elements = _without_shadows(elements)
    among = set(elements)
    innermost = outline.innermost(elements)
    outer = outline.closest_ancestors(innermost, lambda above: above in among and above.tappable)
    kept = (each if each.tappable else above or each for each, above in zip(innermost, outer, strict=True))
    return outline.in_order(dict.fromkeys(kept))


def _without_shadows(elements: list[Element]) -> list[Element]:
    """Without the area around a control, which iOS lists before it as another one with the same label and state."""
    shadows = {
        one
        for one, other in pairwise(elements)
        if one.checked is not None
        and (one.role, one.label, one.checked) == (other.role, other.label, other.checked)
        and one.bounds.contains(other.bounds.center)
    }
    return [element for element in elements if element not in shadows] if shadows else elements


def _apply_ordinal(elements: list[Element], ordinal: int | None) -> list[Element]:
    return elements if ordinal is None else _nth(elements, ordinal)


def _nth(elements: list[Element], ordinal: int) -> list[Element]:
    position = ordinal - 1 if ordinal > 0 else len(elements) + ordinal
    return [elements[position]] if 0 <= position < len(elements) else []


def _find_related(
    related: RelativeReference, outline: Outline, accepts: ElementFilter, *, whole_phrase: bool = False
) -> list[Element]:
    """`whole_phrase`: what is looked for and what it is beside are named exactly."""
    if whole_phrase:
        this = find_elements(related.this, outline, accepts, whole_phrase=True)
        plain = related.anchor.region or not may_say_more(related.anchor.phrase)
        named = plain or find_elements(related.anchor, outline, lambda element: True, whole_phrase=True)
        return _find_related(related, outline, set(this).__contains__) if this and named else []
    if related.anchor.region is not None:
        return _in_region(related, related.anchor.region, outline, accepts)
    anchors = find_anchors(related, outline)
    if len(anchors) != 1:
        return []
    anchor = anchors[0]
    ordinal = _ordinal_of(related.this)
    elements = find_beside(related.this, anchor, outline, accepts)
    # What contains the anchor is never what is looked for beside it.
    around = {anchor, *outline.ancestors(anchor)}
    others = [element for element in elements if element not in around]
    if anchor in elements and related.relation in (Relation.INSIDE, Relation.IN_ROW_OF):
        return [anchor]
    if related.relation is Relation.INSIDE and is_container(anchor, outline):
        return _apply_ordinal(_of_kind(related.this, outline.descendants_among(others, {anchor})), ordinal)
    if related.relation is Relation.INSIDE:
        return _apply_ordinal(_of_kind(related.this, _in_innermost_container(others, anchor, outline)), ordinal)
    if related.relation is Relation.IN_ROW_OF:
        return _apply_ordinal(_of_kind(related.this, _in_row_of(others, anchor, outline)), ordinal)
    if related.relation is Relation.NEXT_TO:
        row = outline.row_of(anchor)
        others = _of_kind(related.this, outline.descendants_among(others, {row})) if row is not None else others
        if row is not None and ordinal is None and not related.this.name:
            return others
    gaps = [(gap, each) for each in others if (gap := gap_between(each, anchor, related.relation)) is not None]
    if ordinal is not None:
        return _nth([element for _, element in sorted(gaps, key=lambda pair: pair[0])], ordinal)
    if not gaps and related.relation is Relation.NEXT_TO:
        return others if outline.row_of(anchor) is not None else []
    return nearest(gaps)


def _of_kind(this: ElementReference, elements: list[Element]) -> list[Element]:
    """Of a row with a switch and a checkbox, "the switch" is the former."""
    called = {role for reading in this.readings for role in reading.roles}
    switches = [each for each in elements if each.role is Role.SWITCH]
    return switches if switches and Role.SWITCH in called else elements


def find_beside(this: ElementReference, anchor: Element, outline: Outline, accepts: ElementFilter) -> list[Element]:
    """The elements that may be beside the anchor: if a dialog covers that, the dialog does not outrank them."""
    layer = outline.top_layer
    covered = layer is not None and layer not in (anchor, *outline.ancestors(anchor))
    return find_elements(_without_ordinals(this), outline, accepts, everywhere=covered)


def _in_region(related: RelativeReference, region: Region, outline: Outline, accepts: ElementFilter) -> list[Element]:
    """Those that certainly are in that part of the screen; any, if the source does not mark menus and lists."""
    elements = find_elements(_without_ordinals(related.this), outline, accepts)
    inside = memberships(region, elements, outline)
    if outline.top_layer is not None and True not in inside:
        elements = find_elements(_without_ordinals(related.this), outline, accepts, everywhere=True)
        inside = memberships(region, elements, outline)
    if region in (Region.MENU, Region.LIST) and set(inside) == {None}:
        return _apply_ordinal(elements, _ordinal_of(related.this))
    return _apply_ordinal(
        [each for each, is_in in zip(elements, inside, strict=True) if is_in], _ordinal_of(related.this)
    )


def _ordinal_of(target: ElementReference) -> int | None:
    return next((reading.ordinal for reading in target.readings if reading.ordinal is not None), None)


def find_anchors(related: RelativeReference, outline: Outline) -> list[Element]:
    """The elements that the anchor may be. A text stands for itself, not for the field that it labels."""
    elements = find_elements(related.anchor, outline, lambda element: True)
    if not elements and _SOME_DIALOG.fullmatch(related.anchor.phrase):
        dialog = replace(related.anchor, readings=(NameReading("", frozenset({Role.DIALOG})),))
        return find_elements(dialog, outline, lambda element: True)
    if is_called_row(related.anchor):
        return list(dict.fromkeys(outline.row_around(each) for each in elements))
    texts = [each for each in elements if each.text and not each.editable and each.checked is None]
    return texts if len(elements) > 1 and texts else _without_pictures(elements, outline)


def _without_pictures(elements: list[Element], outline: Outline) -> list[Element]:
    """Without the picture of a card, which has the same description as its title beside it."""
    named = [each for each in elements if each.role is not Role.IMAGE]
    boxes = {outline.parent(each) for each in elements}
    return named if len(named) == 1 and len(boxes) == 1 else elements


# The open dialog, whatever its title says.
_SOME_DIALOG = re.compile(
    r"(?:the\s+)?(?:permissions?|confirmation|system|open)\s+(?:dialog|pop-?up|alert|sheet)", re.IGNORECASE
)


def is_called_row(target: ElementReference) -> bool:
    return any(Role.CELL in reading.roles for reading in target.readings)


def _in_row_of(elements: list[Element], anchor: Element, outline: Outline) -> list[Element]:
    """Those in the anchor's row; without rows, those beside it."""
    cell = next((each for each in (anchor, *outline.ancestors(anchor)) if each.role is Role.CELL), None)
    row = cell or outline.row_of(anchor)
    if row is not None:
        return outline.descendants_among(elements, {row})
    return [element for element in elements if gap_between(element, anchor, Relation.NEXT_TO) is not None]


def _without_ordinals(target: ElementReference) -> ElementReference:
    return replace(target, readings=tuple(replace(reading, ordinal=None) for reading in target.readings))


def _in_innermost_container(elements: list[Element], anchor: Element, outline: Outline) -> list[Element]:
    """Those inside the anchor or its innermost possible container, which is within its row and not the whole screen."""
    containers = [anchor, *outline.ancestors(anchor)][:-1]
    row_of = outline.row_of(anchor)
    rows = (place for place, each in enumerate(containers) if each.role is Role.CELL or each is row_of)
    row = next(rows, len(containers))
    places = {container: place for place, container in enumerate(containers[: row + 1])}
    around = outline.closest_ancestors(elements, places.__contains__)
    return nearest([(places[above], each) for each, above in zip(elements, around, strict=True) if above is not None])
