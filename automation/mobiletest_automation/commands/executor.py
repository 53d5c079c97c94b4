"""Runs the commands that hold no other steps: those of texts here, the others in modules."""

from typing import assert_never

from mobiletest_automation.commands import apps, assertions, captures, swipes, taps
from mobiletest_automation.commands.context import CommandContext, command_outcome, join_messages
from mobiletest_automation.commands.support import unsupported
from mobiletest_automation.flows import commands
from mobiletest_automation.flows.capture_commands import CaptureCommand, InputRandom
from mobiletest_automation.flows.css_selectors import css_selectors_of
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.selectors import Condition
from mobiletest_automation.flows.steps import (
    AppCommand,
    AssertionCommand,
    Command,
    SwipeCommand,
    TapCommand,
    TextCommand,
)
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, StepOutcome


class CommandExecutor:
    """Raises StepFailed and DeviceFailure."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def run(self, command: Command, *, optional: bool = False) -> StepOutcome:
        """What the command did; an `optional` one waits less for its element, but a check as long as others.

        StepFailed (script_error) for one that this device cannot carry out.
        """
        if reason := unsupported(self._context.device, command):
            raise StepFailed(Category.SCRIPT_ERROR, reason)
        with self._context.watcher.matching(css_selectors_of(command)):
            return await self._run(command, optional=optional)

    async def _run(self, command: Command, *, optional: bool) -> StepOutcome:
        context = self._context.for_optional() if optional else self._context
        if isinstance(command, TapCommand):
            return await taps.perform_tap(context, command)
        if isinstance(command, SwipeCommand):
            return await swipes.perform_swipe(context, command)
        if isinstance(command, AssertionCommand):
            return await assertions.perform_assertion(self._context, command)
        if isinstance(command, CaptureCommand):
            return await captures.perform_capture(context, command)
        if isinstance(command, TextCommand):
            return await _perform_text(context, command)
        if isinstance(command, AppCommand):
            return await apps.perform_on_app(context, command)
        raise AssertionError(f"{type(command).__name__} is not a single command")

    async def condition_holds(self, condition: Condition) -> bool:
        """Whether the condition is true; an element gets a moment to appear."""
        with self._context.watcher.matching(css_selectors_of(condition)):
            return await assertions.condition_holds(self._context, condition)


async def _perform_text(context: CommandContext, command: TextCommand) -> StepOutcome:
    device = context.device
    match command:
        case commands.InputText(text):
            await context.keyboard.type(text)
        case InputRandom():
            text = context.random_texts.draw(command)
            await context.keyboard.type(text)
            return command_outcome(command, message=f'typed "{cut(text, 200)}"')
        case commands.EraseText(0):
            pass
        case commands.EraseText(characters):
            await device.clear(characters=characters)
        case commands.PressKey("back"):
            await device.back()
        case commands.PressKey(key):
            await device.press_key(key)
        case commands.SetClipboard(text):
            context.variables.copied = text
        case commands.CopyTextFrom():
            return await _copy_text(context, command)
        case commands.PasteText():
            return await _paste_text(context, command)
        case _:
            assert_never(command)
    return command_outcome(command)


async def _copy_text(context: CommandContext, command: commands.CopyTextFrom) -> StepOutcome:
    """Of an element without a text its hint, or else its label, as in Maestro; they may all be empty."""
    found = await context.find(command.selector)
    text = found.element.text or found.element.hint or found.element.label
    context.variables.copied = text
    copied = f"copied {quote(text, limit=200)}" if text else "copied an empty text"
    return command_outcome(command, found.element, join_messages(copied, found.message))


async def _paste_text(context: CommandContext, command: commands.PasteText) -> StepOutcome:
    text = context.variables.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: use copyTextFrom first")
    await context.keyboard.type(text)
    return command_outcome(command, message=f"pasted {quote(text, limit=200)}")
