"""How a step ends: what it did and how that was found, or why it failed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from services.executor.automation.screen.elements import Element
from services.executor.automation.screen.outline import Outline
from services.executor.model.attempts import CacheOutcome, Resolution
from services.executor.model.failures import Category

RECOVERABLE = frozenset(
    {
        Category.ASSERTION_FAILED,
        Category.ELEMENT_NOT_FOUND,
        Category.STEP_TIMEOUT,
        Category.SCRIPT_ERROR,
        Category.GOAL_NOT_REACHED,
    }
)
"""Failures after which the app is still running: `optional` and `retry` tolerate these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What a step did: `action` is the API's name for it, `screenshot` the picture that a screenshot step took."""

    action: str
    resolution: Resolution
    element: Element | None = None
    message: str = ""
    screenshot: bytes | None = field(default=None, repr=False)
    screenshot_name: str | None = None


@dataclass(slots=True)
class ResolutionCost:
    """What finding a sentence's action has cost so far; it counts whether the step passes or fails.

    `resolution` is the last way that was tried, None if none was. `cache_failed` says that a cached action failed and
    that the attempt is to be repeated without the cache.
    """

    cache: CacheOutcome | None = None
    resolution: Resolution | None = None
    model_calls: int = 0
    model_tokens: int = 0
    cache_failed: bool = False


class StepFailed(Exception):
    """A step did not do what it says.

    `message` is for a person; `reason` is its short form, which is the same for failures of the same kind; `element` is
    the element concerned, if it was found.
    """

    def __init__(self, category: Category, message: str, *, reason: str = "", element: Element | None = None) -> None:
        super().__init__(message)
        self.category = category
        self.message = message
        self.reason = reason or message
        self.element = element


@asynccontextmanager
async def time_limit(seconds: float, what: str) -> AsyncIterator[None]:
    """Limits real time. StepFailed (step_timeout) when that is over: `what` did not happen within these seconds."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise StepFailed(Category.STEP_TIMEOUT, f"{what} within {seconds:g} s") from error


def describe_screen(outline: Outline | None, limit: int = 8) -> str:
    """The visible elements, for a message: "On the screen: button "Pay", ..."."""
    named = [element for element in outline.visible if element.name] if outline is not None else []
    if not named:
        return "No named element is on the screen."
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
        f"{what} was still visible after {waited:g} s: {element.describe()}",
        reason=f"{what} was still visible",
        element=element,
    )
