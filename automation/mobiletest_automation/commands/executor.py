"""Runs the commands that hold no other steps: those of texts here, the others in modules."""

from typing import assert_never

from mobiletest_automation.commands import apps, assertions, captures, swipes, taps
from mobiletest_automation.commands.context import CommandContext, command_outcome, join_messages
from mobiletest_automation.commands.support import unsupported
from mobiletest_automation.flows.app_commands import AppCommand
from mobiletest_automation.flows.assertion_commands import AssertionCommand
from mobiletest_automation.flows.capture_commands import CaptureCommand
from mobiletest_automation.flows.css_selectors import css_selectors_of
from mobiletest_automation.flows.device_commands import DeviceCommand
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.selectors import Condition
from mobiletest_automation.flows.steps import Command
from mobiletest_automation.flows.text_commands import (
    Back,
    CopyTextFrom,
    EraseText,
    HideKeyboard,
    InputRandom,
    InputText,
    PasteText,
    PressKey,
    SetClipboard,
    TextCommand,
)
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.flows.touch_commands import SwipeCommand, TapCommand
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
        if isinstance(command, AppCommand | DeviceCommand):
            return await apps.perform_on_app(context, command)
        raise AssertionError(f"{type(command).__name__} is not a single command")

    async def condition_holds(self, condition: Condition) -> bool:
        """Whether the condition is true; an element gets a moment to appear."""
        with self._context.watcher.matching(css_selectors_of(condition)):
            return await assertions.condition_holds(self._context, condition)


async def _perform_text(context: CommandContext, command: TextCommand) -> StepOutcome:
    device = context.device
    match command:
        case InputText(text):
            await context.keyboard.type(text)
        case InputRandom():
            text = context.random_texts.draw(command)
            await context.keyboard.type(text)
            return command_outcome(command, message=f'typed "{cut(text, 200)}"')
        case EraseText(0):
            pass
        case EraseText(characters):
            await device.clear(characters=characters)
        case SetClipboard(text):
            context.variables.copied = text
        case CopyTextFrom():
            return await _copy_text(context, command)
        case PasteText():
            return await _paste_text(context, command)
        case PressKey("back") | Back():
            await device.back()
        case PressKey(key):
            await device.press_key(key)
        case HideKeyboard():
            context.watcher.in_motion = True
            await device.hide_keyboard()
        case _:
            assert_never(command)
    return command_outcome(command)


async def _copy_text(context: CommandContext, command: CopyTextFrom) -> StepOutcome:
    """Of an element without a text its hint, or else its label, as in Maestro; they may all be empty."""
    found = await context.find(command.selector)
    text = found.element.text or found.element.hint or found.element.label
    context.variables.copied = text
    copied = f"copied {quote(text, limit=200)}" if text else "copied an empty text"
    return command_outcome(command, found.element, join_messages(copied, found.message))


async def _paste_text(context: CommandContext, command: PasteText) -> StepOutcome:
    text = context.variables.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: use copyTextFrom first")
    await context.keyboard.type(text)
    return command_outcome(command, message=f"pasted {quote(text, limit=200)}")
