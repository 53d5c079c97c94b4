"""Grounds checks of a text: of a field, of the value that belongs to a label, of what a row or a card shows.

A label's own text is known already, so it is never compared.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_labels import MOST_TEXTS, RowLabels
from mobiletest_automation.screen.row_parts import STATES, TEXT_ROLES
from mobiletest_automation.sentences.doubts import is_named_by_kind
from mobiletest_automation.sentences.element_search import is_called_row
from mobiletest_automation.sentences.grounding import (
    CANDIDATES_LIMIT,
    Grounding,
    find_visible,
    ground_single,
    needs_model,
    refuse_ambiguous,
)
from mobiletest_automation.sentences.intents import (
    ElementReference,
    Intent,
    NameReading,
    TextComparison,
    as_typed,
    has_text,
    text_of,
)
from mobiletest_automation.sentences.name_tests import is_called

_LISTS = frozenset({Role.LIST, Role.CELL})
# Whether these are empty says nothing about a text.
_NEVER_EMPTY = frozenset({Role.IMAGE, Role.BUTTON, Role.LINK, Role.TAB, Role.SWITCH, Role.CHECKBOX, Role.RADIO})


def ground_text(intent: Intent, outline: Outline) -> Grounding:
    """The only element whose text is meant; a refusal if there may be others."""
    elements = find_visible(intent, outline)
    if len(elements) > CANDIDATES_LIMIT:
        return refuse_ambiguous(intent, elements)
    labels = RowLabels(outline)
    values: dict[Element, None] = {}
    doubtful: list[Element] = []
    for each in elements:
        value = _value(intent, each, labels, outline)
        if value is not None:
            values[value] = None
        elif each.role is not Role.HEADING:
            doubtful.append(each)
    if not values.keys().isdisjoint(elements):
        doubtful = [each for each in doubtful if each.role not in TEXT_ROLES]
    if not elements or (values and not doubtful):
        answer = ground_single(intent, list(values))
        element = answer.element
        why = None if element is None else _doubt(intent, element) or _doubt_in_row(intent, element, elements, labels)
        return answer if why is None else replace(needs_model(why), candidates=answer.candidates)
    why = f"nothing beside or below {elements[0].describe()} is certainly its value: name the element that shows it"
    return replace(needs_model(why), candidates=tuple(doubtful[:1] or elements[:1]))


def _doubt(intent: Intent, element: Element) -> str | None:
    """Why the text may be as the sentence says although it is not the same."""
    shown, expected = as_typed(text_of(element)), as_typed(intent.value or "")
    what = f"{element.describe()} shows {quote(shown)}"
    if shown == expected or intent.comparison is TextComparison.CONTAINS:
        return None
    if shown.casefold() == expected.casefold():
        return f"{what}, which differs only in capitals: write what the source of the screen says"
    if intent.comparison is TextComparison.SHOWS and expected and _has_words(shown, expected):
        return f"{what}, which has more than that: write the whole text"
    others = (as_typed(each) for each in (element.label, element.attributes.get("value", "")))
    other = next((each for each in others if expected and each != shown and _has_words(each, expected)), None)
    if other is not None:
        return f"{what}, but also has {quote(other)}, which may be meant"
    if intent.target is not None and element.role in TEXT_ROLES and is_named_by_kind(intent.target, element):
        return f"{what}, but the sentence does not say which text it means: name it"
    if element.role in (Role.SLIDER, Role.PROGRESS):
        return f"{what}, which may be another way to write the value"
    native = element.editable and not element.tag and not element.hint
    if native and not expected and not {"hint", "placeholderValue", "showing-hint"} & element.attributes.keys():
        return f"{what}, which may be its hint: the source does not tell the content of a field from its hint"
    return None


def _has_words(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


def _doubt_in_row(intent: Intent, value: Element, elements: list[Element], labels: RowLabels) -> str | None:
    """Why another text of the row may be meant: a row may have an explanation besides the label and the value."""
    if has_text(intent, value):
        return None
    shows, most = intent, MOST_TEXTS
    if intent.comparison is TextComparison.SHOWS and intent.value and not value.editable:
        shows, most = replace(intent, comparison=TextComparison.CONTAINS), 2 * MOST_TEXTS
    others = (
        other for label in elements for other in labels.texts_besides(label, value, most) if has_text(shows, other)
    )
    other = next(others, None)
    if other is None:
        return None
    return f"{value.describe()} and {other.describe()} may both be meant: name the element that shows it"


def _value(intent: Intent, element: Element, labels: RowLabels, outline: Outline) -> Element | None:
    """What is compared; None if that is not certain."""
    switched = element.checked is not None or labels.control_of(element) is not None
    if switched and (intent.value or "").strip().casefold() in STATES:
        return None
    named = _is_named_by_text(intent, element)
    kinds = intent.target.readings[-1] if intent.target is not None and intent.target.readings else None
    if element.editable and kinds is not None and not kinds.name and Role.FIELD not in kinds.roles:
        exact = intent.target is not None and intent.target.phrase in (element.label, element.hint)
        return element if exact else None
    if element.editable:
        return None if named and not labels.label_of(element) and not element.label and not element.hint else element
    if element.children and not element.text:
        row = intent.target is not None and is_called_row(intent.target)
        return _inside(intent, outline.row_around(element) if row else element, outline)
    if named:
        return None if "\n" in text_of(element) else labels.value_of(element)
    if not intent.value and element.role in _NEVER_EMPTY:
        return None
    row = intent.target is not None and is_called_row(intent.target)
    joined = row or (not element.text and bool(element.label))
    return None if joined and _is_within_a_part(intent, element) else element


def _is_named_by_text(intent: Intent, element: Element) -> bool:
    """Whether it was found by the text that would be compared."""
    target = intent.target
    if target is None or target.by_id or target.partly:
        return False
    readings = (reading for reading in _readings(target) if reading.name and not reading.roles - TEXT_ROLES)
    shown = replace(element, text=text_of(element), label="")
    return any(is_called(shown, reading.name) for reading in readings)


def _readings(target: ElementReference) -> Iterable[NameReading]:
    return (*target.readings, *(_readings(target.related.this) if target.related is not None else ()))


def _inside(intent: Intent, container: Element, outline: Outline) -> Element | None:
    """The text of a row, card or list that is as the sentence says; the container itself, which is not, without one."""
    visible = set(outline.visible)
    shown = [each for each in walk(container) if each in visible and each is not container and text_of(each)]
    if not intent.value and container.role in _LISTS:
        named = [each for each in shown if _is_named_by_text(intent, each)]
        others = [each for each in shown if each not in named]
        return others[0] if others else None if named else container
    if not intent.value:
        return None
    same = next((each for each in shown if has_text(replace(intent, comparison=TextComparison.EQUALS), each)), None)
    if same is not None:
        return same
    return None if any(_shows_among_others(intent, each) for each in (container, *shown)) else container


def _is_within_a_part(intent: Intent, element: Element) -> bool:
    """Of a label that joins several texts: whether the value is in it, but is none of these texts."""
    if intent.comparison is not TextComparison.CONTAINS:
        return _shows_among_others(intent, element)
    parts = (as_typed(part).casefold() for part in _BETWEEN.split(text_of(element)))
    return has_text(intent, element) and as_typed(intent.value or "").casefold() not in parts


_BETWEEN = re.compile(r"\n|, ")


def _shows_among_others(intent: Intent, element: Element) -> bool:
    part = replace(intent, comparison=TextComparison.CONTAINS)
    return not has_text(replace(intent, comparison=TextComparison.EQUALS), element) and has_text(part, element)
