"""How a step ends: what it did and how that was found, or why it failed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from mobiletest_automation.devices.port import Recording
from mobiletest_automation.flows.capture_commands import AiCommand
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import CacheOutcome, Resolution
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline

# Failures after which a test can go on: `optional` and `retry` tolerate these, but not what a script throws.
RECOVERABLE = frozenset(
    {
        Category.ASSERTION_FAILED,
        Category.ELEMENT_NOT_FOUND,
        Category.STEP_TIMEOUT,
        Category.SCRIPT_ERROR,
        Category.APP_LAUNCH_FAILED,
        Category.GOAL_NOT_REACHED,
    }
)

# Failures of models: an optional question to a model tolerates these too.
MODEL_FAILURES = frozenset({Category.LLM_UNAVAILABLE, Category.LLM_BUDGET_EXCEEDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """What a step did: `action` is the API's name for it, `screenshot` the picture that a screenshot step took,
    `recording` what a step has stopped to record.

    `variables` are set for the steps that follow.
    """

    action: str
    resolution: Resolution
    element: Element | None = None
    message: str = ""
    screenshot: bytes | None = field(default=None, repr=False)
    screenshot_name: str | None = None
    recording: Recording | None = field(default=None, repr=False)
    recording_name: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


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


# How much longer than its own limit a step may take in real time before its device counts as hanging.
HANG_SECONDS = 30.0


class StepFailed(Exception):
    """A step did not do what it says.

    `message` is for a person; `reason` is its short form, which is the same for failures of the same kind; `element` is
    the element concerned, if it was found. `pictures` are PNGs that show why, by their names. `path` is that of the
    text in the flow whose expression is at fault, if one is. `of_app`: how the app crashed or hung is known, so that
    such failures are alike in whatever step they happen.
    """

    def __init__(
        self,
        category: Category,
        message: str,
        *,
        reason: str = "",
        element: Element | None = None,
        pictures: Mapping[str, bytes] | None = None,
        path: str = "",
        of_app: bool = False,
    ) -> None:
        super().__init__(message)
        self.category = category
        self.message = message
        self.reason = reason or message
        self.of_app = of_app
        self.element = element
        self.pictures = pictures or {}
        self.path = path


class ScriptFailed(StepFailed):
    """A script threw an error or was ended. Neither `optional` nor `retry` tolerates it, as in Maestro."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(Category.SCRIPT_ERROR, message, path=path)


@asynccontextmanager
async def time_limit(seconds: float, what: str) -> AsyncIterator[None]:
    """Limits real time.

    Raises:
        StepFailed: `what` did not happen within these seconds (step_timeout).
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise StepFailed(Category.STEP_TIMEOUT, f"{what} within {seconds:g} s") from error


def hang_limit(seconds: float) -> AbstractAsyncContextManager[None]:
    """Limits in real time what is limited in the device's time already, because a device may hang."""
    return time_limit(seconds + HANG_SECONDS, "the step did not end")


def tolerable_failures(step: Step | None) -> frozenset[Category]:
    """The failures that an optional step may have; those of `retry` and goals without a step."""
    asks_model = step is not None and isinstance(step.command, AiCommand)
    return RECOVERABLE | MODEL_FAILURES if asks_model else RECOVERABLE


def describe_screen(outline: Outline | None, limit: int = 8) -> str:
    """The visible elements, for a message: "On the screen: button "Pay", ..."."""
    named = [element for element in outline.visible if element.name] if outline is not None else []
    if not named:
        return "No named element is on the screen."
    shown = ", ".join(element.describe() for element in named[:limit])
    return f"On the screen: {shown}{', ...' if len(named) > limit else ''}."


def not_found_error(what: str, waited: float, outline: Outline | None, why: str = "") -> StepFailed:
    return _missing_error(Category.ELEMENT_NOT_FOUND, f"{what} was not found", waited, outline, why)


def not_visible_error(
    what: str, waited: float, outline: Outline | None, category: Category, why: str = ""
) -> StepFailed:
    return _missing_error(category, f"{what} did not appear", waited, outline, why)


def _missing_error(category: Category, what: str, waited: float, outline: Outline | None, why: str) -> StepFailed:
    """`why` is what is known beyond that, if anything."""
    because = f": {why}" if why else ""
    said = f"{what} within {waited:g} s{because}{'' if because.endswith('?') else '.'}"
    return StepFailed(category, f"{said} {describe_screen(outline)}", reason=f"{what}{because}")


def still_visible_error(what: str, waited: float, element: Element, category: Category) -> StepFailed:
    return StepFailed(
        category,
        f"{what} was still visible after {waited:g} s: {element.describe()}",
        reason=f"{what} was still visible",
        element=element,
    )
