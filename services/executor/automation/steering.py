"""The app and the device around it: start, stop, forget, links, place and position, keyboard."""

from services.executor.automation.deeds import Deed
from services.executor.automation.doings import Doing
from services.executor.automation.failing import StepFailed
from services.executor.automation.sentences.intents import Action
from services.executor.automation.staging import Stage, deed
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

Steering = (
    LaunchApp | StopApp | ClearState | OpenLink | SetLocation | SetOrientation | Back | HideKeyboard | TakeScreenshot
)


async def steered(stage: Stage, command: Steering) -> Deed:
    device = stage.device
    match command:
        case LaunchApp():
            return await _launched(stage, command)
        case StopApp(app_id):
            await device.stop(stage.app(app_id))
            return deed(Action.STOP_APP)
        case ClearState(app_id):
            await device.clear_state(stage.app(app_id))
            return deed(Doing.CLEAR_STATE)
        case OpenLink(link):
            await device.open_link(link)
            return deed(Action.OPEN_LINK)
        case SetLocation(latitude, longitude):
            await device.set_location(latitude, longitude)
            return deed(Doing.SET_LOCATION)
        case SetOrientation(orientation):
            await device.set_orientation(orientation)
            return deed(Doing.SET_ORIENTATION)
        case Back():
            await device.back()
            return deed(Action.BACK)
        case HideKeyboard():
            await device.hide_keyboard()
            return deed(Action.HIDE_KEYBOARD)
        case TakeScreenshot(name):
            picture = await device.screenshot()
            return Deed(action=Action.SCREENSHOT, resolution=Resolution.COMMAND, picture=picture, name=name)


async def _launched(stage: Stage, command: LaunchApp) -> Deed:
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
    return deed(Action.LAUNCH_APP)
