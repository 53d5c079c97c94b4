"""Checks of what is to be seen, and waits."""

from services.executor.automation.deeds import Deed
from services.executor.automation.doings import Doing
from services.executor.automation.failing import StepFailed, not_visible, still_visible
from services.executor.automation.sentences.intents import Action
from services.executor.automation.staging import First, Stage, deed
from services.executor.automation.stillness import still
from services.executor.model.failures import Category
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    ExtendedWaitUntil,
    WaitForAnimationToEnd,
)
from services.flows.selectors import Condition, Selector
from services.flows.values import is_true

Looking = AssertVisible | AssertNotVisible | AssertTrue | ExtendedWaitUntil | WaitForAnimationToEnd

CONDITION_SECONDS = 3.0
"""How long something may take to appear before a condition does not hold."""


async def looked(stage: Stage, command: Looking) -> Deed:
    match command:
        case AssertVisible(selector):
            return await _seen(stage, selector, stage.seconds, Category.ASSERTION_FAILED)
        case AssertNotVisible(selector):
            return await _gone(stage, selector, stage.seconds, Category.ASSERTION_FAILED)
        case AssertTrue():
            return _true(command)
        case ExtendedWaitUntil():
            return await _waited(stage, command)
        case WaitForAnimationToEnd(seconds):
            at_rest = await still(stage.device, stage.watcher, seconds)
            return deed(
                Doing.WAIT_UNTIL_STILL, message="" if at_rest else f"the screen still moved after {seconds:g} s"
            )


async def holds(stage: Stage, condition: Condition) -> bool:
    """Whether a condition holds; the screen gets a moment to become what it is going to be."""
    if condition.platform is not None and condition.platform != stage.platform:
        return False
    if condition.truth is not None and not is_true(condition.truth):
        return False
    if condition.visible is not None:
        seconds = min(CONDITION_SECONDS, stage.seconds)
        if await stage.watcher.until(First(condition.visible), seconds) is None:
            return False
    return condition.not_visible is None or await stage.watcher.until_gone(First(condition.not_visible), 0) is None


def _true(command: AssertTrue) -> Deed:
    if not is_true(command.value):
        what = command.raw or command.value
        said = f"{what} is not true" + (f": it is {command.value or 'empty'}" if command.raw else "")
        raise StepFailed(Category.ASSERTION_FAILED, said, reason=f"{what} is not true")
    return deed(Doing.ASSERT_TRUE)


async def _seen(stage: Stage, selector: Selector, seconds: float, category: Category) -> Deed:
    element = await stage.watcher.until(First(selector), seconds)
    if element is None:
        raise not_visible(str(selector), seconds, stage.watcher.seen, category)
    return deed(Action.ASSERT_VISIBLE, element)


async def _gone(stage: Stage, selector: Selector, seconds: float, category: Category) -> Deed:
    element = await stage.watcher.until_gone(First(selector), seconds)
    if element is not None:
        raise still_visible(str(selector), seconds, element, category)
    return deed(Action.ASSERT_NOT_VISIBLE)


async def _waited(stage: Stage, command: ExtendedWaitUntil) -> Deed:
    seconds = stage.seconds if command.timeout_seconds is None else command.timeout_seconds
    seen = deed(Action.WAIT_FOR)
    if command.visible is not None:
        seen = await _seen(stage, command.visible, seconds, Category.STEP_TIMEOUT)
    if command.not_visible is not None:
        await _gone(stage, command.not_visible, seconds, Category.STEP_TIMEOUT)
    return deed(Action.WAIT_FOR, seen.element)
