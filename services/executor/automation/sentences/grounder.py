"""The deterministic grounder: from a sentence and a screen to an action on an element, or to a refusal.

It never guesses. If several elements match equally, it lists them; if the words could mean something else, it refuses
the sentence. A wrong action is far worse than a refusal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from services.executor.automation.screen.elements import CHECKABLE, Element, Role, walk
from services.executor.automation.screen.outline import Outline
from services.executor.automation.screen.row_labels import RowLabels
from services.executor.automation.sentences.element_search import ElementFilter, find_anchors, find_elements
from services.executor.automation.sentences.grammar import parse_sentence
from services.executor.automation.sentences.intents import Action, ElementReference, Intent, NotUnderstood, text_of
from services.executor.automation.sentences.rule import is_certain
from services.flows.nodes import quote

CANDIDATES_LIMIT = 20


class RefusalReason(StrEnum):
    """Why there is no action."""

    AMBIGUOUS = "ambiguous"
    NOT_FOUND = "not_found"
    NEEDS_MODEL = "needs_model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """What a sentence or a command does on a screen.

    With an action, `element` is its object (None if it has none, or if it may still appear) and `value` the text, key,
    direction, link or name. Without one, `action` is NONE and `reason` says why; `message` explains it to a person.
    `candidates` are the elements that match. `replaces`: the content of the field is removed first.
    """

    action: Action = Action.NONE
    element: Element | None = None
    value: str | None = None
    candidates: tuple[Element, ...] = ()
    reason: RefusalReason | None = None
    message: str = ""
    replaces: bool = False


def ground_sentence(sentence: str, tree: Element) -> Grounding:
    """What the sentence does on this screen by the rules alone."""
    meaning = parse_sentence(sentence)
    if isinstance(meaning, NotUnderstood):
        return needs_model(meaning.why)
    return ground_intent(meaning, Outline(tree))


def needs_model(why: str) -> Grounding:
    return Grounding(reason=RefusalReason.NEEDS_MODEL, message=why)


def ground_first(action: Action, found: Sequence[Element], value: str | None = None, message: str = "") -> Grounding:
    """The action on the first of the elements, or on none if there are none."""
    element = found[0] if found else None
    return Grounding(
        action=action, element=element, value=value, candidates=tuple(found[:CANDIDATES_LIMIT]), message=message
    )


def ground_intent(intent: Intent, outline: Outline) -> Grounding:
    """What the intent does on this screen."""
    answer = _ground(intent, outline)
    related = intent.target.related if intent.target is not None and intent.target.quoted else None
    if related is None or answer.element is not None or answer.reason not in (None, RefusalReason.NOT_FOUND):
        return answer
    anchors = find_anchors(related, outline)
    return _ambiguous(replace(intent, target=related.anchor), anchors) if len(anchors) > 1 else answer


def _ground(intent: Intent, outline: Outline) -> Grounding:
    match intent.action:
        case Action.TYPE | Action.CLEAR:
            return _ground_text_entry(intent, outline)
        case Action.TAP | Action.DOUBLE_TAP | Action.LONG_PRESS:
            return _ground_tap(intent, outline)
        case Action.SWIPE if intent.target is not None:
            return _ground_single(intent, _find_visible(intent, outline))
        case Action.ASSERT_NOT_VISIBLE:
            return _ground_absence(intent, outline)
        case Action.ASSERT_VISIBLE | Action.WAIT_FOR | Action.SCROLL_UNTIL_VISIBLE:
            return _ground_presence(intent, outline)
        case Action.ASSERT_CHECKED | Action.ASSERT_UNCHECKED:
            return _ground_checked(intent, outline)
        case Action.ASSERT_ENABLED | Action.ASSERT_DISABLED:
            return _ground_enabled(intent, outline)
        case Action.ASSERT_TEXT:
            return _ground_text(intent, outline)
        case _:
            return Grounding(action=intent.action, value=intent.value)


_VISIBILITY_ACTIONS = frozenset(
    {Action.ASSERT_VISIBLE, Action.ASSERT_NOT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE}
)


def _find_visible(intent: Intent, outline: Outline, accepts: ElementFilter = lambda element: True) -> list[Element]:
    """The elements that the intent is about. A quoted name in a check of visibility is a text, never an id."""
    target = intent.target
    if target is None:
        return []
    text_only = (
        intent.action in _VISIBILITY_ACTIONS and target.quoted and not any(reading.roles for reading in target.readings)
    )
    return find_elements(target, outline, accepts, whole_phrase=intent.whole_phrase, by_text_only=text_only)


def _ground_text_entry(intent: Intent, outline: Outline) -> Grounding:
    if intent.target is None:
        focused = next((element for element in walk(outline.root) if element.editable and element.focused), None)
        if focused is None:
            return Grounding(reason=RefusalReason.NOT_FOUND, message="no field has the focus: say into which field")
        return Grounding(action=intent.action, element=focused, value=intent.value)
    fields = _find_visible(intent, outline, lambda element: element.editable)
    answer = _ground_single(intent, fields or _fields_inside(intent, outline))
    if not intent.replaces or answer.element is None:
        return answer
    held = answer.element.text
    return replace(answer, replaces=True, message=f"{quote(held)} is removed first" if held else "")


def _fields_inside(intent: Intent, outline: Outline) -> list[Element]:
    """The field inside each container of that name that contains exactly one."""
    found = []
    for container in _find_visible(intent, outline):
        fields = [element for element in walk(container) if element.editable and element.visible]
        found += fields if len(fields) == 1 else []
    return found


def _ground_tap(intent: Intent, outline: Outline) -> Grounding:
    found = _find_visible(intent, outline)
    tappable = [element for element in found if outline.tappable(element)]
    if tappable or intent.tappable_only:
        found = tappable
    found = [element for element in found if _is_tap_candidate(element, outline)]
    if intent.checked is not None or intent.toggles:
        found = _controls(found, outline) or found
    answer = _ground_single(intent, found)
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


def _ground_single(intent: Intent, found: list[Element]) -> Grounding:
    """The action on the only element; a refusal if there is none or there are several."""
    if not found:
        return _not_found(intent)
    if len(found) > 1:
        return _ambiguous(intent, found)
    return Grounding(action=intent.action, element=found[0], value=intent.value, candidates=(found[0],))


def _not_found(intent: Intent) -> Grounding:
    if intent.whole_phrase:
        return needs_model(
            f"no element is named exactly {intent.target}, and the words may say more than one thing: "
            "write one step for each, with the names in quotes"
        )
    return Grounding(reason=RefusalReason.NOT_FOUND, message=f"no element on the screen matches {intent.target}")


def _ambiguous(intent: Intent, found: list[Element]) -> Grounding:
    shown = ", ".join(element.describe() for element in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return Grounding(
        reason=RefusalReason.AMBIGUOUS,
        candidates=tuple(found[:CANDIDATES_LIMIT]),
        message=f"{len(found)} elements match {intent.target}: {shown}{more}; say which, "
        'for example: the second "Add" button, or the "Add" button next to "Blue mug"',
    )


def _ground_presence(intent: Intent, outline: Outline) -> Grounding:
    """For an element that may still appear: any that matches will do."""
    if intent.target is None:
        return Grounding(action=intent.action, value=intent.value)
    found = _find_visible(intent, outline)
    value = intent.value if intent.action is Action.SCROLL_UNTIL_VISIBLE else _shown(intent, intent.target)
    if intent.whole_phrase and not found:
        return _not_found(intent)
    return ground_first(intent.action, found, value, "" if found else f"{intent.target} is not on this screen")


def _ground_absence(intent: Intent, outline: Outline) -> Grounding:
    """Absence is only checked for words that are certainly the exact text that would be there."""
    target = intent.target
    if target is None:
        return needs_model("say what must not be visible")
    found = _find_visible(intent, outline)
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


def _ground_state(intent: Intent, found: list[Element]) -> Grounding:
    """For checks of a state: there must be exactly one element, or exactly one that is made for tapping."""
    if len(found) > 1:
        made_for_tapping = [element for element in found if element.tappable]
        found = made_for_tapping if len(made_for_tapping) == 1 else found
    return _ground_single(intent, found)


def _ground_checked(intent: Intent, outline: Outline) -> Grounding:
    """The state of an element, or of the control that a text labels."""
    found = _find_visible(intent, outline, lambda element: element.on is not None or element.role in CHECKABLE)
    if found:
        return _ground_state(intent, found)
    named = _find_visible(intent, outline)
    controls = _controls(named, outline)
    if named and not controls:
        why = f"{named[0].describe()} does not have this state"
        return replace(needs_model(why), candidates=(named[0],))
    return _ground_state(intent, controls)


def _controls(found: Sequence[Element], outline: Outline) -> list[Element]:
    """The switches, checkboxes and radio buttons that are among the elements, or that these label."""
    labels = RowLabels(outline)
    controls = (each if each.checked is not None else labels.control_of(each) for each in found)
    return list(dict.fromkeys(control for control in controls if control is not None))


def _ground_enabled(intent: Intent, outline: Outline) -> Grounding:
    """Of a switch, a checkbox and what labels them "enabled" says that it is on, of others that they can be used."""
    found = _find_visible(intent, outline)
    controls = [] if intent.usable else _controls(found, outline)
    if controls:
        return _ground_switched(intent, controls)
    answer = _ground_state(intent, found)
    element = answer.element
    if element is None or not element.enabled or element.editable or outline.tappable(element):
        return answer
    why = f"{element.describe()} reacts to nothing, so it is neither enabled nor disabled: name what it belongs to"
    return replace(needs_model(why), candidates=(element,))


_SWITCHED = {Action.ASSERT_ENABLED: Action.ASSERT_CHECKED, Action.ASSERT_DISABLED: Action.ASSERT_UNCHECKED}


def _ground_switched(intent: Intent, controls: list[Element]) -> Grounding:
    answer = _ground_state(intent, controls)
    element = answer.element
    if element is None:
        return answer
    if element.enabled:
        return replace(answer, action=_SWITCHED[intent.action])
    why = f'{element.describe()} is on, but cannot be switched: write "is on" or "is greyed out"'
    return answer if element.checked is False else replace(needs_model(why), candidates=(element,))


def _ground_text(intent: Intent, outline: Outline) -> Grounding:
    """The text of an element; of a label, what belongs to it: its own text is known already."""
    found = _find_visible(intent, outline)
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
