"""The app and the device around it: start, stop, forget, links, place and position, keyboard."""

from services.executor.automation.commands.context import CommandContext, command_outcome
from services.executor.automation.outcome import CommandAction, StepFailed, StepOutcome
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


async def perform_app_command(stage: CommandContext, command: AppCommand) -> StepOutcome:
    device = stage.device
    match command:
        case LaunchApp():
            return await _launch(stage, command)
        case StopApp(app_id):
            await device.stop(stage.app(app_id))
            return command_outcome(Action.STOP_APP)
        case ClearState(app_id):
            await device.clear_state(stage.app(app_id))
            return command_outcome(CommandAction.CLEAR_STATE)
        case OpenLink(link):
            await device.open_link(link)
            return command_outcome(Action.OPEN_LINK)
        case SetLocation(latitude, longitude):
            await device.set_location(latitude, longitude)
            return command_outcome(CommandAction.SET_LOCATION)
        case SetOrientation(orientation):
            await device.set_orientation(orientation)
            return command_outcome(CommandAction.SET_ORIENTATION)
        case Back():
            await device.back()
            return command_outcome(Action.BACK)
        case HideKeyboard():
            await device.hide_keyboard()
            return command_outcome(Action.HIDE_KEYBOARD)
        case TakeScreenshot(name):
            picture = await device.screenshot()
            return StepOutcome(action=Action.SCREENSHOT, resolution=Resolution.COMMAND, picture=picture, name=name)


async def _launch(stage: CommandContext, command: LaunchApp) -> StepOutcome:
    if command.clear_keychain and stage.platform == "ios" and not stage.device.info.simulated:
        raise StepFailed(
            Category.SCRIPT_ERROR, "the keychain of an iOS device cannot be cleared: launch without clearKeychain"
        )
    await stage.device.launch(
        stage.app(command.app_id),
        clear_state=command.clear_state,
        stop_first=command.stop_app,
        permissions=dict(command.permissions),
        arguments=dict(command.arguments),
    )
    return command_outcome(Action.LAUNCH_APP)
