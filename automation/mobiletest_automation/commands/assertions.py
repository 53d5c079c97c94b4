"""Checks of what is visible, and waits."""

from mobiletest_automation.commands.context import (
    CommandContext,
    FirstMatch,
    command_outcome,
    preview_expected,
    preview_value,
)
from mobiletest_automation.commands.selector_search import explain_missing, find_by_selector
from mobiletest_automation.devices.stability import wait_until_stable
from mobiletest_automation.flows import assertion_commands as commands
from mobiletest_automation.flows.selectors import NOT_A_WEB_PAGE, Condition, Selector, css_selectors_of
from mobiletest_automation.flows.templates import is_true
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, StepOutcome, not_visible_error, still_visible_error
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounding import Grounding, ground_first
from mobiletest_automation.sentences.intents import Action

# How long an element may take to appear, or to disappear, before a condition is false; as in Maestro.
CONDITION_SECONDS = 7.0


async def perform_assertion(context: CommandContext, command: commands.AssertionCommand) -> StepOutcome:
    match command:
        case commands.AssertVisible(selector):
            element = await _wait_until_visible(context, selector, context.seconds, Category.ASSERTION_FAILED)
            return command_outcome(command, element)
        case commands.AssertNotVisible(selector):
            await _wait_until_gone(context, selector, context.seconds, Category.ASSERTION_FAILED)
            return command_outcome(command, message=_doubt_about_absence(context, selector))
        case commands.AssertTrue():
            _check_true(command)
            return command_outcome(command)
        case commands.ExtendedWaitUntil():
            awaited = await _wait_until(context, command)
            gone = command.not_visible
            return command_outcome(command, awaited, _doubt_about_absence(context, gone) if gone is not None else "")
        case commands.WaitForAnimationToEnd(seconds):
            at_rest = await wait_until_stable(context.device, context.watcher, seconds)
            message = "" if at_rest else f"the screen was still moving after {seconds:g} s"
            return command_outcome(command, message=message)


def preview_assertion(command: commands.AssertionCommand, outline: Outline) -> Grounding:
    match command:
        case commands.AssertVisible(selector) | commands.ExtendedWaitUntil(visible=Selector() as selector):
            return preview_expected(command, selector, outline)
        case commands.AssertNotVisible(selector) | commands.ExtendedWaitUntil(not_visible=Selector() as selector):
            elements = find_by_selector(selector, outline)
            message = f"{selector} is on this screen" if elements else ""
            return ground_first(Action.ASSERT_NOT_VISIBLE, elements, message=message)
        case commands.AssertTrue(value):
            return preview_value(command, value)
        case _:
            return preview_value(command)


async def condition_holds(context: CommandContext, condition: Condition) -> bool:
    """Whether the condition is true; an element gets CONDITION_SECONDS to appear or to disappear."""
    if condition.platform is not None and condition.platform != context.device.info.flow_platform:
        return False
    if condition.truth is not None and not is_true(condition.truth):
        return False
    if css_selectors_of(condition) and not context.device.info.browser:
        raise StepFailed(Category.SCRIPT_ERROR, NOT_A_WEB_PAGE)
    seconds = min(CONDITION_SECONDS, context.seconds)
    visible, gone = condition.visible, condition.not_visible
    if visible is not None and await context.watcher.until(FirstMatch(visible), seconds) is None:
        return False
    return gone is None or await context.watcher.until_gone(FirstMatch(gone), seconds) is None


def _check_true(command: commands.AssertTrue) -> None:
    if not is_true(command.value):
        what = command.raw or command.value
        message = f"{what} is not true" + (f": it is {command.value or 'empty'}" if command.raw else "")
        raise StepFailed(Category.ASSERTION_FAILED, message, reason=f"{what} is not true")


async def _wait_until(context: CommandContext, command: commands.ExtendedWaitUntil) -> Element | None:
    """The visible element, if the command names one."""
    seconds = context.seconds if command.timeout_seconds is None else command.timeout_seconds
    element = None
    if command.visible is not None:
        element = await _wait_until_visible(context, command.visible, seconds, Category.STEP_TIMEOUT)
    if command.not_visible is not None:
        await _wait_until_gone(context, command.not_visible, seconds, Category.STEP_TIMEOUT)
    return element


async def _wait_until_visible(
    context: CommandContext, selector: Selector, seconds: float, category: Category
) -> Element:
    element = await context.watcher.until(FirstMatch(selector), seconds)
    if element is None:
        screen = context.watcher.seen
        raise not_visible_error(str(selector), seconds, screen, category, explain_missing(selector, screen))
    return element


def _doubt_about_absence(context: CommandContext, selector: Selector) -> str:
    """That the element is absent only because a container or anchor is, which may be misspelt."""
    return explain_missing(selector, context.watcher.seen, absent=True)


async def _wait_until_gone(context: CommandContext, selector: Selector, seconds: float, category: Category) -> None:
    element = await context.watcher.until_gone(FirstMatch(selector), seconds)
    if element is not None:
        raise still_visible_error(str(selector), seconds, element, category)
