"""What a sentence does on a screen, or why it is refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.element_search import ElementFilter, find_elements
from mobiletest_automation.sentences.intents import Action, Intent

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

    action: str = Action.NONE
    element: Element | None = None
    value: str | None = None
    candidates: tuple[Element, ...] = ()
    reason: RefusalReason | None = None
    message: str = ""
    replaces: bool = False


def needs_model(why: str) -> Grounding:
    return Grounding(reason=RefusalReason.NEEDS_MODEL, message=why)


def ground_first(action: str, elements: Sequence[Element], value: str | None = None, message: str = "") -> Grounding:
    """The action on the first of the elements, or on none if there are none."""
    element = elements[0] if elements else None
    return Grounding(
        action=action, element=element, value=value, candidates=tuple(elements[:CANDIDATES_LIMIT]), message=message
    )


def ground_single(intent: Intent, elements: list[Element]) -> Grounding:
    """The action on the only element; a refusal if there is none or there are several."""
    if not elements:
        return refuse_missing(intent)
    if len(elements) > 1:
        return refuse_ambiguous(intent, elements)
    return Grounding(action=intent.action, element=elements[0], value=intent.value, candidates=(elements[0],))


def refuse_missing(intent: Intent) -> Grounding:
    if intent.whole_phrase:
        return needs_model(
            f"no element is named exactly {intent.target}, and the words may say more than one thing: "
            "write one step for each, with the names in quotes"
        )
    return Grounding(reason=RefusalReason.NOT_FOUND, message=f"no element on the screen matches {intent.target}")


def refuse_ambiguous(intent: Intent, elements: list[Element]) -> Grounding:
    shown = ", ".join(element.describe() for element in elements[:5])
    more = f" and {len(elements) - 5} more" if len(elements) > 5 else ""
    return Grounding(
        reason=RefusalReason.AMBIGUOUS,
        candidates=tuple(elements[:CANDIDATES_LIMIT]),
        message=f"{len(elements)} elements match {intent.target}: {shown}{more}; say which, "
        'for example: the second "Add" button, or the "Add" button next to "Blue mug"',
    )


_VISIBILITY_ACTIONS = frozenset(
    {Action.ASSERT_VISIBLE, Action.ASSERT_NOT_VISIBLE, Action.WAIT_FOR, Action.SCROLL_UNTIL_VISIBLE}
)


def find_visible(intent: Intent, outline: Outline, accepts: ElementFilter = lambda element: True) -> list[Element]:
    """The elements that the intent is about. A quoted name in a check of visibility is a text, never an id."""
    target = intent.target
    if target is None:
        return []
    text_only = (
        intent.action in _VISIBILITY_ACTIONS and target.quoted and not any(reading.roles for reading in target.readings)
    )
    return find_elements(target, outline, accepts, whole_phrase=intent.whole_phrase, by_text_only=text_only)
