"""What a step did: the action, on what, and how it was found."""

from dataclasses import dataclass, field
from enum import StrEnum

from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from services.executor.model.attempts import CacheOutcome, Resolution
from services.executor.model.failures import Category


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """`action` is in the words of the API, `picture` a screenshot that the step asked for, `name` what to call it.

    `cache`, `model_calls` and `model_tokens` say what finding the action took.
    """

    action: str
    resolution: Resolution
    element: Element | None = None
    message: str = ""
    picture: bytes | None = field(default=None, repr=False)
    name: str | None = None
    cache: CacheOutcome | None = None
    model_calls: int = 0
    model_tokens: int = 0


@dataclass(slots=True)
class ResolutionCost:
    """What a sentence has taken so far, whether it is carried out in the end or not.

    `resolution` is the last way that was tried to find its action, None as long as none was. `cache_failed` says that
    a remembered action went wrong, and that the attempt is to be repeated without memory.
    """

    cache: CacheOutcome | None = None
    resolution: Resolution | None = None
    model_calls: int = 0
    model_tokens: int = 0
    cache_failed: bool = False


class CommandAction(StrEnum):
    """In the words of the API, as `Step.action`."""

    CLEAR_STATE = "clear_state"
    COPY_TEXT = "copy_text"
    SET_CLIPBOARD = "set_clipboard"
    ASSERT_TRUE = "assert_true"
    WAIT_UNTIL_STILL = "wait_until_still"
    SET_LOCATION = "set_location"
    SET_ORIENTATION = "set_orientation"


RECOVERABLE = frozenset(
    {
        Category.ASSERTION_FAILED,
        Category.ELEMENT_NOT_FOUND,
        Category.STEP_TIMEOUT,
        Category.SCRIPT_ERROR,
        Category.GOAL_NOT_REACHED,
    }
)
"""What `optional` and `retry` pass over: the app is still there."""


class StepFailed(Exception):
    """A step did not do what it says.

    `message` is for a person; `reason` is its short form, which is equal for equal failures; `element` is what it was
    about, if it was found.
    """

    def __init__(self, category: Category, message: str, *, reason: str = "", element: Element | None = None) -> None:
        super().__init__(message)
        self.category = category
        self.message = message
        self.reason = reason or message
        self.element = element


def describe_screen(outline: Outline | None, limit: int = 8) -> str:
    """What can be seen, for a message: "On the screen: button "Pay", ..."."""
    named = [element for element in outline.visible if element.name] if outline is not None else []
    if not named:
        return "The screen shows nothing that has a name."
    shown = ", ".join(element.describe() for element in named[:limit])
    return f"On the screen: {shown}{', ...' if len(named) > limit else ''}."


def not_found_error(what: str, waited: float, outline: Outline | None) -> StepFailed:
    return StepFailed(
        Category.ELEMENT_NOT_FOUND,
        f"{what} was not found within {waited:g} s. {describe_screen(outline)}",
        reason=f"{what} was not found",
    )


def not_visible_error(what: str, waited: float, outline: Outline | None, category: Category) -> StepFailed:
    return StepFailed(
        category,
        f"{what} did not appear within {waited:g} s. {describe_screen(outline)}",
        reason=f"{what} did not appear",
    )


def still_visible_error(what: str, waited: float, element: Element, category: Category) -> StepFailed:
    return StepFailed(
        category,
        f"{what} was still to be seen after {waited:g} s: {element.describe()}",
        reason=f"{what} was still to be seen",
        element=element,
    )
