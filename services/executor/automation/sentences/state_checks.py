"""Grounds checks of how an element is: enabled, checked, or with a text.

A false verdict is worse than a refusal, so that each names exactly one element, and of a label what belongs to it.
"""

from collections.abc import Sequence
from dataclasses import replace

from services.executor.automation.screen.elements import CHECKABLE, Element, Role
from services.executor.automation.screen.outline import Outline
from services.executor.automation.screen.row_labels import RowLabels
from services.executor.automation.sentences.grounding import Grounding, find_visible, ground_single, needs_model
from services.executor.automation.sentences.intents import SWITCHED, Intent, text_of


def _ground_state(intent: Intent, found: list[Element]) -> Grounding:
    """For checks of a state: there must be exactly one element, or exactly one that is made for tapping."""
    if len(found) > 1:
        made_for_tapping = [element for element in found if element.tappable]
        found = made_for_tapping if len(made_for_tapping) == 1 else found
    return ground_single(intent, found)


def ground_checked(intent: Intent, outline: Outline) -> Grounding:
    """The state of an element, or of the control that a text labels."""
    found = find_visible(intent, outline, lambda element: element.on is not None or element.role in CHECKABLE)
    if found:
        return _ground_state(intent, found)
    named = find_visible(intent, outline)
    controls = find_controls(named, outline)
    if named and not controls:
        why = f"{named[0].describe()} does not have this state"
        return replace(needs_model(why), candidates=(named[0],))
    return _ground_state(intent, controls)


def find_controls(found: Sequence[Element], outline: Outline) -> list[Element]:
    """The switches, checkboxes and radio buttons that are among the elements, or that these label."""
    labels = RowLabels(outline)
    controls = (each if each.checked is not None else labels.control_of(each) for each in found)
    return list(dict.fromkeys(control for control in controls if control is not None))


def ground_enabled(intent: Intent, outline: Outline) -> Grounding:
    """Of a switch, a checkbox and what labels them "enabled" says that it is on, of others that they can be used."""
    found = find_visible(intent, outline)
    controls = [] if intent.usable else find_controls(found, outline)
    if controls:
        return _ground_switched(intent, controls)
    answer = _ground_state(intent, found)
    element = answer.element
    if element is None or not element.enabled or element.editable or outline.tappable(element):
        return answer
    why = f"{element.describe()} reacts to nothing, so it is neither enabled nor disabled: name what it belongs to"
    return replace(needs_model(why), candidates=(element,))


def _ground_switched(intent: Intent, controls: list[Element]) -> Grounding:
    answer = _ground_state(intent, controls)
    element = answer.element
    if element is None:
        return answer
    if element.enabled:
        return replace(answer, action=SWITCHED[intent.action])
    why = f'{element.describe()} is on, but cannot be switched: write "is on" or "is greyed out"'
    return answer if element.checked is False else replace(needs_model(why), candidates=(element,))


def ground_text(intent: Intent, outline: Outline) -> Grounding:
    """The text of an element; of a label, what belongs to it: its own text is known already."""
    found = find_visible(intent, outline)
    labels = RowLabels(outline)
    values = list(dict.fromkeys(value for each in found if (value := _value(intent, each, labels)) is not None))
    if values or not found:
        return _ground_state(intent, values)
    why = f"nothing beside or below {found[0].describe()} is certainly its value: name the element that shows it"
    return replace(needs_model(why), candidates=tuple(found[:1]))


def _value(intent: Intent, element: Element, labels: RowLabels) -> Element | None:
    if element.editable or not _is_named_by_text(intent, element):
        return element
    return labels.value_of(element)


def _is_named_by_text(intent: Intent, element: Element) -> bool:
    """Whether it was found by the text that would be compared."""
    target = intent.target
    if target is None or target.by_id or target.partly or target.related is not None:
        return False
    lines = {" ".join(line.casefold().split()) for line in (text_of(element), *text_of(element).split("\n"))}
    return any(not reading.roles - _TEXT_ROLES and reading.name.casefold() in lines for reading in target.readings)


_TEXT_ROLES = frozenset({Role.TEXT, Role.HEADING, Role.OTHER})
