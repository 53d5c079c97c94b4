"""Runs and previews the commands that hold no other steps, each by the module of its kind."""

from mobiletest_automation.commands.apps import perform_on_app, preview_on_app
from mobiletest_automation.commands.assertions import condition_holds, perform_assertion, preview_assertion
from mobiletest_automation.commands.captures import perform_capture, preview_capture
from mobiletest_automation.commands.context import CommandContext, preview_value
from mobiletest_automation.commands.support import unsupported
from mobiletest_automation.commands.texts import perform_text, preview_text
from mobiletest_automation.commands.touch import perform_touch, preview_touch
from mobiletest_automation.flows.app_commands import AppCommand
from mobiletest_automation.flows.assertion_commands import AssertionCommand
from mobiletest_automation.flows.capture_commands import AiCommand, CaptureCommand
from mobiletest_automation.flows.device_commands import DeviceCommand
from mobiletest_automation.flows.selectors import Condition, css_selectors_of
from mobiletest_automation.flows.steps import Command, Sentence
from mobiletest_automation.flows.text_commands import TextCommand
from mobiletest_automation.flows.touch_commands import TouchCommand
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.grounding import Grounding, RefusalReason

IN_BROWSER_ONLY = "css selectors are evaluated in the page when the test runs, so there is no preview of them"


class CommandExecutor:
    """Carries out commands.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def run(self, command: Command, *, optional: bool = False) -> StepOutcome:
        """What the command did; an `optional` one waits less for its element, but a check as long as others.

        Raises:
            StepFailed: for one that this device cannot carry out (script_error).
        """
        if reason := unsupported(self._context.device, command):
            raise StepFailed(Category.SCRIPT_ERROR, reason)
        with self._context.watcher.matching(css_selectors_of(command)):
            return await self._run(command, optional=optional)

    async def _run(self, command: Command, *, optional: bool) -> StepOutcome:
        context = self._context.for_optional() if optional else self._context
        if isinstance(command, TouchCommand):
            return await perform_touch(context, command)
        if isinstance(command, AssertionCommand):
            return await perform_assertion(self._context, command)
        if isinstance(command, CaptureCommand):
            return await perform_capture(context, command)
        if isinstance(command, TextCommand):
            return await perform_text(context, command)
        if isinstance(command, AppCommand | DeviceCommand):
            return await perform_on_app(context, command)
        raise AssertionError(f"{type(command).__name__} is not a single command")

    async def condition_holds(self, condition: Condition) -> bool:
        """Whether the condition is true; an element gets a moment to appear."""
        with self._context.watcher.matching(css_selectors_of(condition)):
            return await condition_holds(self._context, condition)


def preview_step(command: Command, tree: Element) -> Grounding:
    """What the command or sentence would do on this screen, by the rules alone, without a device or a model.

    Not for commands that hold other steps.
    """
    if isinstance(command, Sentence):
        return ground_sentence(command.text, tree)
    if css_selectors_of(command):
        return Grounding(reason=RefusalReason.NOT_FOUND, message=IN_BROWSER_ONLY)
    outline = Outline(tree)
    if isinstance(command, TouchCommand):
        return preview_touch(command, outline)
    if isinstance(command, AssertionCommand):
        return preview_assertion(command, outline)
    if isinstance(command, CaptureCommand | AiCommand):
        return preview_capture(command, outline)
    if isinstance(command, TextCommand):
        return preview_text(command, outline)
    if isinstance(command, AppCommand | DeviceCommand):
        return preview_on_app(command)
    return preview_value(command)
