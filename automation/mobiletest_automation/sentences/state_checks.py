"""Grounds checks of whether an element is enabled, checked or selected.

A false verdict is worse than a refusal, so that each names exactly one element.
"""

from collections.abc import Sequence
from dataclasses import replace

from mobiletest_automation.screen.elements import CHECKABLE, Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_labels import MOST_ELEMENTS, RowLabels
from mobiletest_automation.screen.row_parts import STATES
from mobiletest_automation.sentences.element_search import is_called_row
from mobiletest_automation.sentences.grounding import (
    CANDIDATES_LIMIT,
    Grounding,
    find_visible,
    ground_single,
    needs_model,
)
from mobiletest_automation.sentences.intents import SWITCHED, Intent, text_of

_ROWS = frozenset({Role.CELL, Role.OTHER})
_LABELS = frozenset({Role.TEXT, Role.HEADING})


def _ground_state(intent: Intent, elements: list[Element]) -> Grounding:
    """For checks of a state: there must be exactly one element, or exactly one that is made for tapping."""
    if len(elements) > 1:
        made_for_tapping = [element for element in elements if element.tappable]
        elements = made_for_tapping if len(made_for_tapping) == 1 else elements
    return ground_single(intent, elements)


def ground_checked(intent: Intent, outline: Outline) -> Grounding:
    """The state of an element, or of the control that a text labels."""
    elements = find_visible(intent, outline, lambda element: element.on is not None or element.role in CHECKABLE)
    if elements:
        answer = _ground_state(intent, elements)
        element = answer.element
        if element is None or (_has_known_state(element, outline) and (element.checked is not None or intent.selects)):
            return answer
        return _stateless(elements)
    named = find_visible(intent, outline)
    controls = find_controls(named, outline)
    return _stateless(named) if named and not controls else _ground_state(intent, controls)


def _stateless(elements: Sequence[Element]) -> Grounding:
    why = f"{elements[0].describe()} does not have this state"
    return replace(needs_model(why), candidates=(elements[0],))


def _has_known_state(element: Element, outline: Outline) -> bool:
    """Of tabs of which none is selected, the source does not say which one is."""
    if element.checked is not None or element.on is None:
        return element.on is not None
    for above in outline.ancestors(element):
        if outline.size_of(above) > MOST_ELEMENTS:
            break
        tabs = [each for each in walk(above) if each.role is Role.TAB]
        if len(tabs) > 1:
            return any(each.selected for each in tabs)
    return element.selected


def find_controls(elements: Sequence[Element], outline: Outline) -> list[Element]:
    """The switches, checkboxes and radio buttons that are among the elements, or that these label."""
    labels = RowLabels(outline)
    controls = (each if each.checked is not None else labels.control_of(each) for each in elements)
    return list(dict.fromkeys(control for control in controls if control is not None))


def ground_enabled(intent: Intent, outline: Outline) -> Grounding:
    """Of a switch, a checkbox and what labels them "enabled" says that it is on, of others that they can be used."""
    elements = find_visible(intent, outline)
    controls = find_controls(elements, outline)
    if controls:
        return _ground_state(intent, controls) if intent.usable else _ground_switched(intent, controls)
    if len(elements) > CANDIDATES_LIMIT:
        return _ground_state(intent, elements)
    parts = list(dict.fromkeys(_tapped_part(each, outline) for each in elements))
    answer = _ground_state(intent, parts)
    element = answer.element
    why = None if element is None else _doubt_about_use(intent, element, elements, outline)
    return answer if why is None else replace(needs_model(why), candidates=answer.candidates)


def _tapped_part(element: Element, outline: Outline) -> Element:
    """What a tap on the element reaches: a text does not know that its button is disabled."""
    if element.tappable:
        return element
    around = (each for each in outline.ancestors(element) if each is not outline.root)
    above = next((each for each in around if each.tappable or not each.enabled), None)
    if above is None or outline.size_of(above) > MOST_ELEMENTS or sum(each.tappable for each in walk(above)) > 1:
        return element
    return above


def _reacts(element: Element) -> bool:
    """Whether it can be tapped. Of a row, Android and HTML say so, iOS does not."""
    says = bool(element.tag) or "clickable" in element.attributes
    return element.clickable or (element.tappable and not (says and element.role is Role.CELL))


def _doubt_about_use(intent: Intent, element: Element, elements: Sequence[Element], outline: Outline) -> str | None:
    what = element.describe()
    if element.enabled and not _reacts(element):
        return f"{what} reacts to nothing, so it is neither enabled nor disabled: name what it belongs to"
    if element.role is Role.CELL and not intent.usable and not (intent.target and is_called_row(intent.target)):
        return f"{what} is a row: write that it is on, or that the row is enabled or clickable"
    if element.enabled and any(not each.enabled for each in elements):
        return f"{what} is enabled, but its text is not"
    if not intent.usable and element.checked is not None:
        return (
            f"{what} can be switched, but {intent.target} may not be its name: name it, or write that it is on or off"
        )
    labels = RowLabels(outline)
    values = [labels.value_of(one) for one in elements if one.role in _LABELS]
    others = set(walk(element)) - {element, *elements}
    states = any(text_of(each).strip().casefold() in STATES for each in others)
    joined = "\n" in text_of(element) or any(values)
    if not intent.usable and (states or (element.role in _ROWS and joined)):
        return f'{what} has a value of its own: write, for example, {intent.target} shows "On"'
    return None


def _ground_switched(intent: Intent, controls: list[Element]) -> Grounding:
    answer = _ground_state(intent, controls)
    element = answer.element
    if element is None:
        return answer
    if element.enabled:
        return replace(answer, action=SWITCHED[intent.action])
    why = f'{element.describe()} is on, but cannot be switched: write "is on" or "is greyed out"'
    return answer if element.checked is False else replace(needs_model(why), candidates=(element,))
