"""Says what a model has left out of a sentence that the rules understand: its word alone is no proof."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.executor.automation.deciding import CHECKS
from services.executor.automation.elements import Element
from services.executor.automation.ports import Answer
from services.executor.automation.sentences.intents import Action, Intent

_ACTS = frozenset(
    {
        Action.TAP,
        Action.DOUBLE_TAP,
        Action.LONG_PRESS,
        Action.TYPE,
        Action.SWIPE,
        Action.SCROLL,
        Action.BACK,
        Action.PRESS_KEY,
        Action.OPEN_LINK,
        Action.LAUNCH_APP,
        Action.STOP_APP,
    }
)
"""What is never done already: a step that says so has to do something."""


@dataclass(frozen=True, slots=True)
class Move:
    """An action that was carried out, and the screen before it."""

    tree: Element
    answer: Answer


def lacking(intent: Intent | None, moves: Sequence[Move]) -> str:
    """What has to be done or checked yet, as the end of a sentence; empty when nothing is known to be."""
    if intent is None:
        return ""
    answers = [move.answer for move in moves]
    if intent.action in CHECKS:
        return (
            "" if any(_shows(intent, each) for each in answers) else "no element was checked that is as the step says"
        )
    if intent.action is Action.ASSERT_NOT_VISIBLE and intent.target is not None and intent.target.quoted:
        named = intent.target.name.casefold()
        absent = [each.value or "" for each in answers if each.action is Action.ASSERT_NOT_VISIBLE]
        return (
            "" if any(named in each.casefold() for each in absent) else "it was not checked that the text is not there"
        )
    if intent.action in _ACTS and intent.checked is None and all(each.action is Action.WAIT_FOR for each in answers):
        return "nothing was done, and the step says what to do"
    return ""


def _shows(intent: Intent, answer: Answer) -> bool:
    """Whether the model checked an element, and that is as the sentence says."""
    checked = answer.action is Action.ASSERT_VISIBLE or answer.action in CHECKS
    return checked and answer.element is not None and CHECKS[intent.action](intent, answer.element)
