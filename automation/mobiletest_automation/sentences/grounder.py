"""The deterministic grounder: from a sentence and a screen to an action on an element, or to a refusal.

It never guesses. If several elements match equally, it lists them; if the words could mean something else, it refuses
the sentence. A wrong action is far worse than a refusal.
"""

from dataclasses import replace

from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.element_search import find_anchors
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounding import (
    Grounding,
    RefusalReason,
    find_visible,
    ground_single,
    needs_model,
    refuse_ambiguous,
)
from mobiletest_automation.sentences.intents import Action, Intent, NotUnderstood
from mobiletest_automation.sentences.name_tests import is_called
from mobiletest_automation.sentences.state_checks import (
    find_controls,
    ground_absence,
    ground_checked,
    ground_enabled,
    ground_presence,
)
from mobiletest_automation.sentences.text_checks import ground_text


def ground_sentence(sentence: str, tree: Element) -> Grounding:
    """What the sentence does on this screen by the rules alone."""
    meaning = parse_sentence(sentence)
    if isinstance(meaning, NotUnderstood):
        return needs_model(meaning.why)
    return ground_intent(meaning, Outline(tree))


def ground_intent(intent: Intent, outline: Outline) -> Grounding:
    """What the intent does on this screen."""
    if intent.other_name and any(is_called(each, intent.other_name) for each in outline.visible):
        return needs_model(f'{quote(intent.other_name)} is on the screen: quote the name, or begin with "verify that"')
    answer = _ground(intent, outline)
    related = intent.target.related if intent.target is not None and intent.target.quoted else None
    if related is None or answer.element is not None or answer.reason not in (None, RefusalReason.NOT_FOUND):
        return answer
    anchors = find_anchors(related, outline)
    return refuse_ambiguous(replace(intent, target=related.anchor), anchors) if len(anchors) > 1 else answer


def _ground(intent: Intent, outline: Outline) -> Grounding:
    match intent.action:
        case Action.TYPE | Action.CLEAR:
            return _ground_text_entry(intent, outline)
        case Action.TAP | Action.DOUBLE_TAP | Action.LONG_PRESS:
            return _ground_tap(intent, outline)
        case Action.SWIPE if intent.target is not None:
            return ground_single(intent, find_visible(intent, outline))
        case Action.ASSERT_NOT_VISIBLE:
            return ground_absence(intent, outline)
        case Action.ASSERT_VISIBLE | Action.WAIT_FOR | Action.SCROLL_UNTIL_VISIBLE:
            return ground_presence(intent, outline)
        case Action.ASSERT_CHECKED | Action.ASSERT_UNCHECKED:
            return ground_checked(intent, outline)
        case Action.ASSERT_ENABLED | Action.ASSERT_DISABLED:
            return ground_enabled(intent, outline)
        case Action.ASSERT_TEXT:
            return ground_text(intent, outline)
        case _:
            return Grounding(action=intent.action, value=intent.value)


def _ground_text_entry(intent: Intent, outline: Outline) -> Grounding:
    if intent.target is None:
        focused = next((element for element in walk(outline.root) if element.editable and element.focused), None)
        if focused is None:
            return Grounding(reason=RefusalReason.NOT_FOUND, message="no field has the focus: say into which field")
        return Grounding(action=intent.action, element=focused, value=intent.value)
    fields = find_visible(intent, outline, lambda element: element.editable)
    answer = ground_single(intent, fields or _fields_inside(intent, outline))
    if not intent.replaces or answer.element is None:
        return answer
    held = answer.element.text
    return replace(answer, replaces=True, message=f"{quote(held)} is removed first" if held else "")


def _fields_inside(intent: Intent, outline: Outline) -> list[Element]:
    """The field inside each container of that name that contains exactly one."""
    inside = []
    for container in find_visible(intent, outline):
        fields = [element for element in walk(container) if element.editable and element.visible]
        inside += fields if len(fields) == 1 else []
    return inside


def _ground_tap(intent: Intent, outline: Outline) -> Grounding:
    elements = find_visible(intent, outline)
    tappable = [element for element in elements if outline.tappable(element)]
    if tappable or intent.tappable_only:
        elements = tappable
    elements = [element for element in elements if _is_tap_candidate(element, outline)]
    if intent.checked is not None or intent.toggles:
        elements = find_controls(elements, outline) or elements
    answer = ground_single(intent, elements)
    if intent.toggles and answer.element is not None and not _toggles(answer.element, outline):
        why = f"{answer.element.describe()} cannot be switched: name the switch, or tap it"
        return replace(needs_model(why), candidates=(answer.element,))
    if intent.checked is None or answer.element is None:
        return answer
    return _ground_toggle(intent, answer, answer.element)


def _is_tap_candidate(element: Element, outline: Outline) -> bool:
    """Not a heading, which does nothing, and not a container, whose middle may be anything."""
    return outline.tappable(element) or (element.role is not Role.HEADING and not element.children)


def _toggles(element: Element, outline: Outline) -> bool:
    """A button may be one that is on or off, but those of a dialog or sheet say what happens."""
    if element.checked is None and element.role is Role.BUTTON:
        return outline.top_layer is None
    return element.checked is not None


def _ground_toggle(intent: Intent, answer: Grounding, element: Element) -> Grounding:
    """A tap that should check or uncheck an element, if it is not in that state already."""
    if element.checked is None:
        why = f"{element.describe()} cannot be checked or unchecked; to look for it, write: I see {intent.target}"
        return answer if intent.if_checkable else replace(needs_model(why), candidates=(element,))
    if element.checked != intent.checked:
        return answer
    done = Action.ASSERT_CHECKED if intent.checked else Action.ASSERT_UNCHECKED
    return replace(answer, action=done, message=f"it is already {'checked' if intent.checked else 'unchecked'}")
