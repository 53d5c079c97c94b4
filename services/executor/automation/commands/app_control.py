"""The app and the device: start, stop, clear, links, location, orientation, keyboard, screenshots."""

from services.executor.automation.commands.context import CommandContext, command_outcome
from services.executor.automation.devices.port import LaunchOptions
from services.executor.automation.outcome import StepFailed, StepOutcome
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Resolution
from services.executor.model.failures import Category
from services.flows.command_types import (
    Back,
    ClearState,
    HideKeyboard,
    LaunchApp,
    OpenLink,
    SetLocation,
    SetOrientation,
    StopApp,
    TakeScreenshot,
)

AppCommand = (
    LaunchApp | StopApp | ClearState | OpenLink | SetLocation | SetOrientation | Back | HideKeyboard | TakeScreenshot
)


async def perform_app_command(context: CommandContext, command: AppCommand) -> StepOutcome:
    device = context.device
    match command:
        case LaunchApp():
            return await _launch(context, command)
        case StopApp(app_id):
            await device.stop(context.other_app(app_id))
            return command_outcome(Action.STOP_APP)
        case ClearState(app_id):
            await device.clear_state(context.other_app(app_id))
            return command_outcome(Action.CLEAR_STATE)
        case OpenLink(link):
            await device.open_link(link)
            return command_outcome(Action.OPEN_LINK)
        case SetLocation(latitude, longitude):
            await device.set_location(latitude, longitude)
            return command_outcome(Action.SET_LOCATION)
        case SetOrientation(orientation):
            await device.set_orientation(orientation)
            return command_outcome(Action.SET_ORIENTATION)
        case Back():
            await device.back()
            return command_outcome(Action.BACK)
        case HideKeyboard():
            await device.hide_keyboard()
            return command_outcome(Action.HIDE_KEYBOARD)
        case TakeScreenshot(name):
            picture = await device.screenshot()
            return StepOutcome(
                action=Action.SCREENSHOT, resolution=Resolution.COMMAND, screenshot=picture, screenshot_name=name
            )


async def _launch(context: CommandContext, command: LaunchApp) -> StepOutcome:
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
    return command_outcome(Action.LAUNCH_APP)
