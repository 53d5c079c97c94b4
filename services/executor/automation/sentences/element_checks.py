"""Decides by the screen whether a step can be carried out yet, and whether what it checks is so."""

from collections.abc import Callable, Mapping

from services.executor.automation.devices.port import Device
from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.grounder import Grounding, RefusalReason, ground_intent
from services.executor.automation.sentences.intents import Action, Comparison, Intent

SETTLE_SECONDS = 2.0
"""How long a screen on which the sentence cannot be decided gets to become another one."""

ElementCheck = Callable[[Intent, Element], bool]


class GroundingCondition:
    """What the grounder says of a screen, once that is something to go by.

    A refusal counts when it has been the answer for a while; an answer counts when its element is enabled, where that
    is needed, and when the check holds on it.
    """

    def __init__(
        self,
        intent: Intent,
        device: Device,
        patience: float = SETTLE_SECONDS,
        *,
        needs_enabled: bool = False,
        holds: ElementCheck | None = None,
    ) -> None:
        self._intent = intent
        self._patience = patience
        self._timer = device.timer
        self._needs_enabled = needs_enabled
        self._holds = holds
        self._refused_since: float | None = None
        self.last: Grounding | None = None

    def __call__(self, outline: Outline) -> Grounding | None:
        grounding = self.last = ground_intent(self._intent, outline)
        if grounding.reason in (RefusalReason.AMBIGUOUS, RefusalReason.NEEDS_MODEL):
            return grounding if self._refused_for_long() else None
        self._refused_since = None
        if grounding.reason is RefusalReason.NOT_FOUND:
            return None
        element = grounding.element
        if element is not None and self._needs_enabled and not element.enabled:
            return None
        if element is not None and self._holds is not None and not self._holds(self._intent, element):
            return None
        return grounding

    def _refused_for_long(self) -> bool:
        now = self._timer.now()
        self._refused_since = now if self._refused_since is None else self._refused_since
        return now - self._refused_since >= self._patience


def text_of(element: Element) -> str:
    """What can be read on an element; of a field, what is typed in."""
    return element.text if element.editable else element.text or element.label


def _has_text(intent: Intent, element: Element) -> bool:
    wanted, held = " ".join((intent.value or "").split()), " ".join(text_of(element).split())
    return wanted.casefold() in held.casefold() if intent.comparison is Comparison.CONTAINS else wanted == held


ELEMENT_CHECKS: Mapping[Action, ElementCheck] = {
    Action.ASSERT_ENABLED: lambda intent, element: element.enabled,
    Action.ASSERT_DISABLED: lambda intent, element: not element.enabled,
    Action.ASSERT_CHECKED: lambda intent, element: element.on is True,
    Action.ASSERT_UNCHECKED: lambda intent, element: element.on is False,
    Action.ASSERT_TEXT: _has_text,
}


def describe_mismatch(intent: Intent, element: Element) -> str:
    """How the element is, where the check wanted it otherwise."""
    what = element.describe()
    match intent.action:
        case Action.ASSERT_ENABLED:
            return f"{what} is disabled"
        case Action.ASSERT_DISABLED:
            return f"{what} is enabled"
        case Action.ASSERT_CHECKED:
            return f"{what} is not checked"
        case Action.ASSERT_UNCHECKED:
            return f"{what} is checked"
        case _:
            relation = "does not contain" if intent.comparison is Comparison.CONTAINS else "is not"
            return f'the text of {what} is "{text_of(element)}", which {relation} "{intent.value}"'
