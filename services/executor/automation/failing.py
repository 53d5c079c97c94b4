"""How a step fails, in the words of the report."""

from services.executor.automation.elements import Element
from services.executor.automation.sentences.matching import Outline
from services.executor.model.failures import Category

FORGIVABLE = frozenset(
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


def on_screen(outline: Outline | None, limit: int = 8) -> str:
    """What can be seen, for a message: "On the screen: button "Pay", ..."."""
    named = [element for element in outline.visible if element.name] if outline is not None else []
    if not named:
        return "The screen shows nothing that has a name."
    shown = ", ".join(element.describe() for element in named[:limit])
    return f"On the screen: {shown}{', ...' if len(named) > limit else ''}."


def not_found(what: str, waited: float, outline: Outline | None) -> StepFailed:
    return StepFailed(
        Category.ELEMENT_NOT_FOUND,
        f"{what} was not found within {waited:g} s. {on_screen(outline)}",
        reason=f"{what} was not found",
    )


def not_visible(what: str, waited: float, outline: Outline | None, category: Category) -> StepFailed:
    return StepFailed(
        category,
        f"{what} did not appear within {waited:g} s. {on_screen(outline)}",
        reason=f"{what} did not appear",
    )


def still_visible(what: str, waited: float, element: Element, category: Category) -> StepFailed:
    return StepFailed(
        category,
        f"{what} was still to be seen after {waited:g} s: {element.describe()}",
        reason=f"{what} was still to be seen",
        element=element,
    )
