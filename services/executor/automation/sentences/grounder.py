"""The deterministic grounder: from a sentence and a screen to an action on an element, or to a refusal.

It never guesses. If several elements match equally, it lists them; if the words could mean something else, it refuses
the sentence. A wrong action is far worse than a refusal.
"""

from dataclasses import replace

from services.executor.automation.screen.elements import Element, Role, walk
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.element_search import find_anchors
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.grounding import (
    CANDIDATES_LIMIT,
    Grounding,
    RefusalReason,
    find_visible,
    ground_first,
    ground_single,
    needs_model,
    refuse_ambiguous,
    refuse_missing,
)
from services.executor.automation.sentences.intents import Action, ElementReference, Intent, NotUnderstood
from services.executor.automation.sentences.rule import is_certain
from services.executor.automation.sentences.state_checks import (
    find_controls,
    ground_checked,
    ground_enabled,
    ground_text,
)
from services.flows.nodes import quote


def ground_sentence(sentence: str, tree: Element) -> Grounding:
    """What the sentence does on this screen by the rules alone."""
    meaning = parse_sentence(sentence)
    if isinstance(meaning, NotUnderstood):
        return needs_model(meaning.why)
    return ground_intent(meaning, Outline(tree))


def ground_intent(intent: Intent, outline: Outline) -> Grounding:
    """What the intent does on this screen."""
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
            return _ground_absence(intent, outline)
        case Action.ASSERT_VISIBLE | Action.WAIT_FOR | Action.SCROLL_UNTIL_VISIBLE:
            return _ground_presence(intent, outline)
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
    found = []
    for container in find_visible(intent, outline):
        fields = [element for element in walk(container) if element.editable and element.visible]
        found += fields if len(fields) == 1 else []
    return found


def _ground_tap(intent: Intent, outline: Outline) -> Grounding:
    found = find_visible(intent, outline)
    tappable = [element for element in found if outline.tappable(element)]
    if tappable or intent.tappable_only:
        found = tappable
    found = [element for element in found if _is_tap_candidate(element, outline)]
    if intent.checked is not None or intent.toggles:
        found = find_controls(found, outline) or found
    answer = ground_single(intent, found)
    if intent.toggles and answer.element is not None and not _toggles(answer.element):
        why = f"{answer.element.describe()} cannot be switched: name the switch, or tap it"
        return replace(needs_model(why), candidates=(answer.element,))
    if intent.checked is None or answer.element is None:
        return answer
    return _ground_toggle(intent, answer, answer.element)


def _is_tap_candidate(element: Element, outline: Outline) -> bool:
    """Not a heading, which does nothing, and not a container, whose middle may be anything."""
    return outline.tappable(element) or (element.role is not Role.HEADING and not element.children)


def _toggles(element: Element) -> bool:
    return element.checked is not None or element.role is Role.BUTTON


def _ground_toggle(intent: Intent, answer: Grounding, element: Element) -> Grounding:
    """A tap that should check or uncheck an element, if it is not in that state already."""
    if element.checked is None:
        why = f"{element.describe()} cannot be checked or unchecked; to look for it, write: I see {intent.target}"
        return answer if intent.if_checkable else replace(needs_model(why), candidates=(element,))
    if element.checked != intent.checked:
        return answer
    done = Action.ASSERT_CHECKED if intent.checked else Action.ASSERT_UNCHECKED
    return replace(answer, action=done, message=f"it is already {'checked' if intent.checked else 'unchecked'}")


def _ground_presence(intent: Intent, outline: Outline) -> Grounding:
    """For an element that may still appear: any that matches will do."""
    if intent.target is None:
        return Grounding(action=intent.action, value=intent.value)
    found = find_visible(intent, outline)
    value = intent.value if intent.action is Action.SCROLL_UNTIL_VISIBLE else _shown(intent, intent.target)
    if intent.whole_phrase and not found:
        return refuse_missing(intent)
    return ground_first(intent.action, found, value, "" if found else f"{intent.target} is not on this screen")


def _ground_absence(intent: Intent, outline: Outline) -> Grounding:
    """Absence is only checked for words that are certainly the exact text that would be there."""
    target = intent.target
    if target is None:
        return needs_model("say what must not be visible")
    found = find_visible(intent, outline)
    doubt = None if found else _uncertain_part(target, outline)
    if doubt is not None:
        return needs_model(f"quote the exact text that must not be visible: {doubt} may be a description")
    partial = _partial_matches(target, outline)
    if not found and partial:
        shown = ", ".join(element.describe() for element in partial[:3])
        return Grounding(
            reason=RefusalReason.AMBIGUOUS,
            candidates=tuple(partial[:CANDIDATES_LIMIT]),
            message=f"no text is exactly {target}, but there is {shown}; say the whole text, "
            f'or: I do not see a text containing "{target.name}", or use assertNotVisible, which means the exact text',
        )
    return ground_first(intent.action, found, _shown(intent, target))


def _shown(intent: Intent, target: ElementReference) -> str:
    """What is waited or looked for; the limit, where the sentence says one."""
    return target.name or target.phrase if intent.seconds is None else f"{intent.seconds:g} s"


def _uncertain_part(target: ElementReference, outline: Outline) -> ElementReference | None:
    """The part of a target that may be a description; of a relation, the end that is not found."""
    related = target.related
    if related is None or not target.quoted:
        return None if is_certain(target) else target
    if not is_certain(related.this):
        return related.this
    return None if is_certain(related.anchor) or find_anchors(related, outline) else related.anchor


def _partial_matches(target: ElementReference, outline: Outline) -> list[Element]:
    """Visible elements whose text contains the words of the target among others."""
    name = target.name.casefold()
    if target.partly or target.by_id or target.related is not None or len(name) < 2:
        return []
    padded = f" {' '.join(name.split())} "
    return [element for element in outline.visible if padded in f" {_words(element.text or element.label)} "]


def _words(text: str) -> str:
    return " ".join("".join(c if c.isalnum() or c in "'-_" else " " for c in text.casefold()).split())
