"""Locators find an element again by its role and texts on a screen whose data may have changed; they never guess."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.fingerprint import (
    belongs_to_system,
    hash_text,
    id_shape,
    normalized_words,
    own_id,
)
from mobiletest_automation.screen.outline import Outline

# How far, as a share of the screen, an element may have moved that only its position identifies.
MAX_DISTANCE = 0.05

# The words of a row are those of its first elements: rows may be nested.
_ROW_ELEMENTS = 200

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Locator:
    """What identifies an element.

    With `exact`, text, label and hint must be equal; without it, which requires an id, they are compared as words
    without numbers, because a counter or a price changes. `row` has the words of the element's row, `rows` a hash of
    all rows if the choice may have depended on them. Of `equals` matching elements it was number `ordinal` (from 0),
    with its middle at (`x`, `y`) in shares of the screen. `checked` was its state.
    """

    role: Role
    id: str = ""
    exact: bool = True
    text: str = ""
    label: str = ""
    hint: str = ""
    row: str | None = None
    rows: str | None = None
    checked: bool | None = None
    equals: int = 1
    ordinal: int = 0
    x: float = 0.0
    y: float = 0.0


def locator_of(element: Element, outline: Outline, sentence: str, *, exact: bool) -> Locator | None:
    """The locator of an element; None if it would not find this element, and only this one, on the same screen.

    `sentence` is the step that chose it: a row whose words are not in the sentence was not chosen by its name, and a
    number in the sentence is part of a name. `exact` compares texts exactly, as checks do.
    """
    mentioned = numbers_in(sentence)
    if element not in outline.visible or mentioned & numbers_in(own_id(element)):
        return None
    row = outline.row_of(element)
    x, y = _relative_position(element, outline)
    exact = exact or not id_shape(own_id(element)) or _needs_exact_text(element, mentioned)
    text, label, hint = _texts_of(element, exact=exact)
    locator = Locator(
        role=element.role,
        id=_stable_id(element),
        exact=exact,
        text=text,
        label=label,
        hint=hint,
        row=_row_words(row) if row is not None else None,
        rows=_hash_of_texts(_rows_around(row, outline))
        if row is not None and not _is_named_in(row, outline, sentence)
        else None,
        checked=element.checked,
        x=x,
        y=y,
    )
    alike = _matching_elements(locator, outline)
    if element not in alike or (len(alike) > 1 and row is not None):
        return None
    counted = replace(locator, equals=len(alike), ordinal=alike.index(element))
    return counted if locate(counted, outline) is element else None


def locate(locator: Locator, outline: Outline) -> Element | None:
    """The element on the current screen; None if it is missing or ambiguous."""
    alike = _matching_elements(locator, outline)
    if len(alike) != locator.equals:
        return None
    element = alike[locator.ordinal]
    if locator.equals > 1 and not _is_near(locator, element, outline):
        return None
    if locator.rows is not None:
        row = outline.row_of(element)
        if row is None or _hash_of_texts(_rows_around(row, outline)) != locator.rows:
            return None
    return element


def numbers_in(text: str) -> frozenset[str]:
    """The numbers in a text, as written."""
    return frozenset(_NUMBER.findall(text))


def has_number_on_screen(sentence: str, outline: Outline) -> bool:
    """Whether the sentence has a number that is visible on the screen."""
    mentioned = numbers_in(sentence)
    return any(mentioned & numbers_in(f"{_readable_text(each)} {each.label}") for each in outline.visible)


def content_hash(outline: Outline) -> str:
    """A hash of all texts on the screen."""
    return _hash_of_texts([outline.root])


def wording_hash(outline: Outline) -> str:
    """A hash of the words on the screen in order, without numbers."""
    said = (
        normalized_words(f"{_readable_text(each)} {each.label}")
        for each in walk(outline.root)
        if each.visible and not belongs_to_system(each)
    )
    return hash_text("\n".join(filter(None, said)))


def _matching_elements(locator: Locator, outline: Outline) -> list[Element]:
    words = cache(_row_words)
    alike = ((each, outline.row_of(each)) for each in outline.visible if _matches(locator, each))
    return [element for element, row in alike if (words(row) if row is not None else None) == locator.row]


def _matches(locator: Locator, element: Element) -> bool:
    """Whether the element itself is as the locator says; its row is not looked at."""
    if element.role is not locator.role or element.checked != locator.checked:
        return False
    if _stable_id(element) != locator.id:
        return False
    return _texts_of(element, exact=locator.exact) == (locator.text, locator.label, locator.hint)


def _readable_text(element: Element) -> str:
    return "" if element.editable else element.text


def _stable_id(element: Element) -> str:
    identifier = own_id(element)
    return identifier if id_shape(identifier) else ""


def _texts_of(element: Element, *, exact: bool) -> tuple[str, str, str]:
    """Text, label and hint, exact or as words."""
    texts = (_readable_text(element), element.label, element.hint)
    return texts if exact else (normalized_words(texts[0]), normalized_words(texts[1]), normalized_words(texts[2]))


def _needs_exact_text(element: Element, mentioned: frozenset[str]) -> bool:
    """Whether words are not enough: a text has a number that names the element, or only a sign such as "+"."""
    texts = (_readable_text(element), element.label, element.hint)
    return any(
        mentioned & numbers_in(text) or (text.strip() and not normalized_words(text) and not numbers_in(text))
        for text in texts
    )


def _rows_around(row: Element, outline: Outline) -> list[Element]:
    parent = outline.parent(row) or outline.root
    return [child for child in parent.children if child.role is row.role]


def _row_words(row: Element) -> str:
    """The words of the row without numbers, contents of fields, and texts of buttons."""
    inside = list(islice(walk(row), _ROW_ELEMENTS))
    said = [
        normalized_words(f"{_readable_text(each)} {each.label}") for each in inside if each is row or not each.tappable
    ]
    return " ".join(filter(None, said)) or normalized_words(" ".join(map(_readable_text, inside)))


def _is_named_in(row: Element, outline: Outline, sentence: str) -> bool:
    """Whether the sentence has the first words of only this row among its siblings, and none of its numbers."""
    if any(numbers_in(sentence) & numbers_in(f"{_readable_text(each)} {each.label}") for each in walk(row)):
        return False
    said = set(normalized_words(sentence).split())
    named = [
        each for each in _rows_around(row, outline) if (name := _row_words(each)) and set(name.split()[:2]) <= said
    ]
    return named == [row]


def _hash_of_texts(elements: Iterable[Element]) -> str:
    said = (
        f"{each.role}|{_readable_text(each)}|{each.label}|{each.checked}"
        for element in elements
        for each in walk(element)
        if each.visible and not belongs_to_system(each)
    )
    return hash_text("\n".join(said))


def _relative_position(element: Element, outline: Outline) -> tuple[float, float]:
    screen, center = outline.root.bounds, element.bounds.center
    return round(center.x / (screen.width or 1), 3), round(center.y / (screen.height or 1), 3)


def _is_near(locator: Locator, element: Element, outline: Outline) -> bool:
    x, y = _relative_position(element, outline)
    return abs(x - locator.x) <= MAX_DISTANCE and abs(y - locator.y) <= MAX_DISTANCE
