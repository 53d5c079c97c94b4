"""Runs the commands that hold no other steps: those of texts, the app and the device here, the others in modules."""

from dataclasses import replace
from typing import assert_never

from services.executor.automation.commands import assertions, swipes, taps
from services.executor.automation.commands.context import CommandContext, command_outcome
from services.executor.automation.devices.port import LaunchOptions
from services.executor.automation.outcome import StepFailed, StepOutcome
from services.executor.automation.sentences.intents import text_of
from services.executor.model.failures import Category
from services.flows import commands
from services.flows.selectors import Condition
from services.flows.steps import AppCommand, AssertionCommand, Command, SwipeCommand, TapCommand, TextCommand


class CommandExecutor:
    """Raises StepFailed and DeviceFailure."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def run(self, command: Command) -> StepOutcome:
        context = self._context
        if isinstance(command, TapCommand):
            return await taps.perform_tap(context, command)
        if isinstance(command, SwipeCommand):
            return await swipes.perform_swipe(context, command)
        if isinstance(command, AssertionCommand):
            return await assertions.perform_assertion(context, command)
        if isinstance(command, TextCommand):
            return await _perform_text(context, command)
        if isinstance(command, AppCommand):
            return await _perform_on_app(context, command)
        raise AssertionError(f"{type(command).__name__} is not a single command")

    async def condition_holds(self, condition: Condition) -> bool:
        """Whether the condition is true; an element gets a moment to appear."""
        return await assertions.condition_holds(self._context, condition)


async def _perform_text(context: CommandContext, command: TextCommand) -> StepOutcome:
    device = context.device
    match command:
        case commands.InputText(text):
            await context.keyboard.type(text)
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


async def _perform_on_app(context: CommandContext, command: AppCommand) -> StepOutcome:
    device = context.device
    match command:
        case commands.LaunchApp():
            await _launch(context, command)
        case commands.StopApp(app_id):
            await device.stop(context.other_app(app_id))
        case commands.ClearState(app_id):
            await device.clear_state(context.other_app(app_id))
        case commands.OpenLink(link):
            await device.open_link(link)
        case commands.SetLocation(latitude, longitude):
            await device.set_location(latitude, longitude)
        case commands.SetOrientation(orientation):
            await device.set_orientation(orientation)
        case commands.Back():
            await device.back()
        case commands.HideKeyboard():
            await device.hide_keyboard()
        case commands.TakeScreenshot(name):
            picture = await device.screenshot()
            return replace(command_outcome(command), screenshot=picture, screenshot_name=name)
        case _:
            assert_never(command)
    return command_outcome(command)


async def _launch(context: CommandContext, command: commands.LaunchApp) -> None:
    if command.clear_keychain and context.platform == "ios" and not context.device.info.simulated:
        raise StepFailed(
            Category.SCRIPT_ERROR, "the keychain of an iOS device cannot be cleared: launch without clearKeychain"
        )
    options = LaunchOptions(
        app_id=context.other_app(command.app_id),
        clear_state=command.clear_state,
        stop_first=command.stop_app,
        permissions=dict(command.permissions),
        arguments=dict(command.arguments),
    )
    await context.device.launch(options)


async def _copy_text(context: CommandContext, command: commands.CopyTextFrom) -> StepOutcome:
    element = await context.find(command.selector)
    text = text_of(element)
    if not text:
        what = f"{element.describe()} has no text to copy"
        raise StepFailed(Category.ASSERTION_FAILED, what, element=element)
    context.variables.copied = text
    return command_outcome(command, element, f'copied "{text[:200]}"')


async def _paste_text(context: CommandContext, command: commands.PasteText) -> StepOutcome:
    text = context.variables.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: use copyTextFrom first")
    await context.keyboard.type(text)
    return command_outcome(command, message=f'pasted "{text[:200]}"')
