"""Grounds checks of whether an element is enabled, checked, selected or visible, and waits for what is visible.

A false verdict is worse than a refusal, so that each names exactly one element.
"""

from collections.abc import Sequence
from dataclasses import replace

from mobiletest_automation.screen.elements import CHECKABLE, Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_labels import MOST_ELEMENTS, RowLabels
from mobiletest_automation.screen.row_parts import STATES
from mobiletest_automation.sentences.doubts import doubt_about_found, doubt_about_missing
from mobiletest_automation.sentences.element_search import is_called_row
from mobiletest_automation.sentences.grounding import (
    CANDIDATES_LIMIT,
    Grounding,
    RefusalReason,
    find_visible,
    ground_first,
    ground_single,
    needs_model,
    refuse_missing,
)
from mobiletest_automation.sentences.intents import SWITCHED, Action, ElementReference, Intent, text_of
from mobiletest_automation.sentences.name_tests import contains_words

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


def ground_presence(intent: Intent, outline: Outline) -> Grounding:
    """For an element that may still appear: any that matches will do."""
    target = intent.target
    if target is None:
        return Grounding(action=intent.action, value=intent.value)
    elements = find_visible(intent, outline)
    if intent.whole_phrase and not elements:
        return refuse_missing(intent)
    if intent.action is Action.SCROLL_UNTIL_VISIBLE:
        return ground_first(intent.action, elements, intent.value, "" if elements else _missing(target))
    doubt = doubt_about_found(target, elements, outline) if elements else doubt_about_missing(target, outline)
    if doubt is not None:
        return needs_model(doubt)
    return ground_first(intent.action, elements, _shown(intent, target), "" if elements else _missing(target))


def _missing(target: ElementReference) -> str:
    return f"{target} is not on this screen"


def ground_absence(intent: Intent, outline: Outline) -> Grounding:
    """Absence is only checked for words that are certainly the exact text that would be there."""
    target = intent.target
    if target is None:
        return needs_model("say what must not be visible")
    elements = find_visible(intent, outline)
    partial = [] if elements else _partial_matches(target, outline)
    if partial:
        shown = ", ".join(element.describe() for element in partial[:3])
        return Grounding(
            reason=RefusalReason.AMBIGUOUS,
            candidates=tuple(partial[:CANDIDATES_LIMIT]),
            message=f"no text is exactly {target}, but there is {shown}; say the whole text, "
            f'or: I do not see a text containing "{target.name}", or use assertNotVisible, which means the exact text',
        )
    missing = doubt_about_missing(target, outline) if not elements else None
    doubt = doubt_about_found(target, elements, outline) if elements else missing
    if doubt is not None:
        return needs_model(f"quote the exact text that must not be visible: {doubt}" if not elements else doubt)
    return ground_first(intent.action, elements, _shown(intent, target))


def _shown(intent: Intent, target: ElementReference) -> str:
    """What is waited or looked for; the limit, where the sentence says one."""
    return target.name or target.phrase if intent.seconds is None else f"{intent.seconds:g} s"


def _partial_matches(target: ElementReference, outline: Outline) -> list[Element]:
    """Visible elements whose text contains the words of the target among others."""
    if target.partly or target.by_id or target.related is not None:
        return []
    names = [name for name in target.names if len(name) > 1]
    shown = ((element, element.text or element.label) for element in outline.visible)
    return [element for element, text in shown if any(contains_words(text, name) for name in names)]
