"""Runs the commands that hold no other steps: those of texts, the app and the device here, the others in modules."""

from dataclasses import replace
from typing import assert_never

from services.executor.automation.commands import assertions, swipes, taps
from services.executor.automation.commands.context import CommandContext, command_outcome
from services.executor.automation.devices.port import LaunchOptions
from services.executor.automation.outcome import StepFailed, StepOutcome
from services.executor.automation.sentences.element_checks import text_of
from services.executor.model.failures import Category
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    Back,
    ClearState,
    CopyTextFrom,
    DoubleTapOn,
    EraseText,
    ExtendedWaitUntil,
    HideKeyboard,
    InputText,
    LaunchApp,
    LongPressOn,
    OpenLink,
    PasteText,
    PressKey,
    Scroll,
    ScrollUntilVisible,
    SetClipboard,
    SetLocation,
    SetOrientation,
    StopApp,
    Swipe,
    TakeScreenshot,
    TapOn,
    WaitForAnimationToEnd,
)
from services.flows.selectors import Condition
from services.flows.steps import Command, Repeat, Retry, RunFlow, Sentence

DeviceCommand = (
    InputText
    | EraseText
    | PressKey
    | SetClipboard
    | LaunchApp
    | StopApp
    | ClearState
    | OpenLink
    | SetLocation
    | SetOrientation
    | Back
    | HideKeyboard
)


class CommandExecutor:
    """Raises StepFailed and DeviceFailure."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context

    async def run(self, command: Command) -> StepOutcome:
        match command:
            case TapOn() | DoubleTapOn() | LongPressOn():
                return await taps.perform_tap(self._context, command)
            case Swipe() | Scroll() | ScrollUntilVisible():
                return await swipes.perform_swipe(self._context, command)
            case AssertVisible() | AssertNotVisible() | AssertTrue() | ExtendedWaitUntil() | WaitForAnimationToEnd():
                return await assertions.perform_assertion(self._context, command)
            case CopyTextFrom():
                return await _copy_text(self._context, command)
            case PasteText():
                return await _paste_text(self._context, command)
            case TakeScreenshot(name):
                picture = await self._context.device.screenshot()
                return replace(command_outcome(command), screenshot=picture, screenshot_name=name)
            case Sentence() | RunFlow() | Repeat() | Retry():
                raise AssertionError(f"{type(command).__name__} is not a single command")
            case _:
                await _perform(self._context, command)
                return command_outcome(command)

    async def condition_holds(self, condition: Condition) -> bool:
        """Whether the condition is true; an element gets a moment to appear."""
        return await assertions.condition_holds(self._context, condition)


async def _perform(context: CommandContext, command: DeviceCommand) -> None:
    device = context.device
    match command:
        case InputText(text):
            await device.type(text)
        case EraseText(characters):
            await device.clear(characters=characters)
        case PressKey("back") | Back():
            await device.back()
        case PressKey(key):
            await device.press_key(key)
        case SetClipboard(text):
            context.variables.copied = text
        case LaunchApp():
            await _launch(context, command)
        case StopApp(app_id):
            await device.stop(context.other_app(app_id))
        case ClearState(app_id):
            await device.clear_state(context.other_app(app_id))
        case OpenLink(link):
            await device.open_link(link)
        case SetLocation(latitude, longitude):
            await device.set_location(latitude, longitude)
        case SetOrientation(orientation):
            await device.set_orientation(orientation)
        case HideKeyboard():
            await device.hide_keyboard()
        case _:
            assert_never(command)


async def _launch(context: CommandContext, command: LaunchApp) -> None:
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


async def _copy_text(context: CommandContext, command: CopyTextFrom) -> StepOutcome:
    element = await context.find(command.selector)
    text = text_of(element)
    if not text:
        what = f"{element.describe()} has no text to copy"
        raise StepFailed(Category.ASSERTION_FAILED, what, element=element)
    context.variables.copied = text
    return command_outcome(command, element, f'copied "{text[:200]}"')


async def _paste_text(context: CommandContext, command: PasteText) -> StepOutcome:
    text = context.variables.copied
    if text is None:
        raise StepFailed(Category.SCRIPT_ERROR, "nothing was copied: use copyTextFrom first")
    await context.device.type(text)
    return command_outcome(command, message=f'pasted "{text[:200]}"')
