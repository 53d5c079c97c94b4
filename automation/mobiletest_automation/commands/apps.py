"""Commands of the app under test, other apps and the device."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TypeAlias, assert_never

from mobiletest_automation.commands.context import CommandContext, command_outcome, preview_value
from mobiletest_automation.commands.support import missing_file
from mobiletest_automation.devices.port import LaunchOptions, LinkTarget
from mobiletest_automation.flows import app_commands, device_commands
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed, StepOutcome
from mobiletest_automation.sentences.grounding import Grounding

AppOrDevice: TypeAlias = app_commands.AppCommand | device_commands.DeviceCommand

LEG_STEPS = 50


async def perform_on_app(context: CommandContext, command: AppOrDevice) -> StepOutcome:
    app = context.device.app
    match command:
        case app_commands.LaunchApp():
            await _launch(context, command)
        case app_commands.StopApp(app_id):
            await app.stop(context.other_app(app_id))
        case app_commands.KillApp(app_id):
            await app.kill(context.other_app(app_id))
        case app_commands.ClearState(app_id):
            await app.clear_state(context.other_app(app_id))
        case app_commands.ClearKeychain():
            await app.clear_keychain()
        case app_commands.SetPermissions(app_id, permissions):
            await app.set_permissions(context.other_app(app_id), dict(permissions))
        case app_commands.OpenLink():
            await app.open_link(command.link, _link_target(command))
        case app_commands.OpenBrowser(link):
            await app.open_link(link, LinkTarget.BROWSER)
        case device_commands.SetMode(mode, on):
            await app.set_mode(mode, on=not await app.is_mode_on(mode) if on is None else on)
        case device_commands.AssertMode(mode, on):
            await _check_mode(context, mode, on)
        case device_commands.AddMedia(files):
            await _add_media(context, files)
        case device_commands.Travel():
            await _travel(context, command)
        case device_commands.SetLocation(latitude, longitude):
            await app.set_location(latitude, longitude)
        case device_commands.SetOrientation(orientation):
            await app.set_orientation(orientation)
        case _:
            assert_never(command)
    return command_outcome(command)


def preview_on_app(command: AppOrDevice) -> Grounding:
    if isinstance(command, device_commands.SetMode | device_commands.AssertMode):
        return preview_value(command, None if command.on is None else "on" if command.on else "off")
    return preview_value(command, command.subject or None)


async def _launch(context: CommandContext, command: app_commands.LaunchApp) -> None:
    if command.clear_keychain:
        await context.device.app.clear_keychain()
    options = LaunchOptions(
        app_id=context.other_app(command.app_id),
        clear_state=command.clear_state,
        stop_first=command.stop_app,
        permissions=dict(command.permissions or ()),
        grants_permissions=command.permissions is None,
        arguments=dict(command.arguments),
    )
    context.watcher.in_motion = False
    await context.device.app.launch(options)


async def _check_mode(context: CommandContext, mode: device_commands.Mode, on: bool) -> None:
    if await context.device.app.is_mode_on(mode) != on:
        raise StepFailed(Category.ASSERTION_FAILED, f"{mode.words} is {'off' if on else 'on'}")


async def _add_media(context: CommandContext, files: Sequence[str]) -> None:
    for path in files:
        if path not in context.files:
            raise StepFailed(Category.SCRIPT_ERROR, missing_file(path))
        await context.device.app.add_media(PurePosixPath(path).name, await context.files.read(path))


async def _travel(context: CommandContext, command: device_commands.Travel) -> None:
    """The first point, then up to LEG_STEPS points on the way to each of the others, at most one each second."""
    device = context.device
    await device.app.set_location(command.points[0].latitude, command.points[0].longitude)
    arrival = device.timer.now()
    for (start, end), seconds in zip(pairwise(command.points), command.leg_seconds(), strict=True):
        steps = max(1, min(LEG_STEPS, round(seconds)))
        for step in range(1, steps + 1):
            await device.timer.sleep(max(0.0, arrival + seconds * step / steps - device.timer.now()))
            point = start.between(end, step / steps)
            await device.app.set_location(point.latitude, point.longitude)
        arrival += seconds


def _link_target(command: app_commands.OpenLink) -> LinkTarget:
    if command.in_browser:
        return LinkTarget.BROWSER
    return LinkTarget.OWN_APP if command.in_own_app else LinkTarget.ANY
