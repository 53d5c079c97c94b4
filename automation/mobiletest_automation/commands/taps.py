"""Taps, double taps and long presses, on an element or at a point."""

from mobiletest_automation.commands.context import (
    CommandContext,
    command_outcome,
    join_messages,
)
from mobiletest_automation.devices.gestures import point_at, point_of
from mobiletest_automation.devices.stability import wait_for_change, wait_until_stable
from mobiletest_automation.flows.touch_commands import DoubleTapOn, LongPressOn, TapCommand, TapOn
from mobiletest_automation.outcome import StepOutcome
from mobiletest_automation.screen.elements import Element, Point
from mobiletest_automation.screen.fingerprint import ScreenState, screen_state

LONG_PRESS_SECONDS = 3.0
# How long a screen may take to change after a tap.
CHANGE_SECONDS = 2.0


async def perform_tap(context: CommandContext, command: TapCommand) -> StepOutcome:
    """As often as the command says, and all of that once more if nothing changed and it says so."""
    found = None
    if command.selector is not None:
        found = await context.find_at_rest(command.selector, command.settle_seconds)
    context.watcher.in_motion = False
    element = found.element if found is not None else None
    target = await _tap_target(context, command, element)
    before = screen_state(await context.watcher.look()) if command.retry_if_no_change else None
    await _tap(context, command, target)
    message = await _retry_unchanged(context, command, target, before) if before is not None else ""
    if command.settle_seconds:
        await wait_until_stable(context.device, context.watcher, command.settle_seconds)
    return command_outcome(command, element, join_messages(found.message if found is not None else "", message))


async def _tap_target(context: CommandContext, command: TapCommand, element: Element | None) -> Element | Point:
    """The element, or a point of it or of the screen."""
    place = command.point
    if element is not None:
        return element if place is None else point_of(element, place)
    screen = await context.device.screen_bounds()
    return screen.center if place is None else point_at(place, screen)


async def _tap(context: CommandContext, command: TapCommand, target: Element | Point) -> None:
    for round_ in range(command.times):
        if round_:
            await context.device.timer.sleep(command.pause_seconds)
        match command:
            case TapOn():
                await context.device.tap(target)
            case DoubleTapOn():
                await context.device.double_tap(target)
            case LongPressOn():
                await context.device.long_press(target, LONG_PRESS_SECONDS)


async def _retry_unchanged(
    context: CommandContext, command: TapCommand, target: Element | Point, before: ScreenState
) -> str:
    """Tap once more if the screen has not changed; returns the message."""
    if await wait_for_change(context.watcher, before, CHANGE_SECONDS):
        return ""
    await _tap(context, command, target)
    then = "then it changed" if await wait_for_change(context.watcher, before, CHANGE_SECONDS) else "it stayed the same"
    return f"the screen did not change, so the tap was repeated: {then}"
