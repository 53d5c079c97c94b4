"""Taps, double taps and long presses, by an element or at a point."""

from services.executor.automation.deeds import Deed
from services.executor.automation.elements import Element, Point
from services.executor.automation.gestures import point
from services.executor.automation.sentences.intents import Action
from services.executor.automation.staging import Stage, deed
from services.executor.automation.stillness import Impression, changed, impression, still
from services.flows.command_types import DoubleTapOn, LongPressOn, TapOn

Touch = TapOn | DoubleTapOn | LongPressOn

CHANGE_SECONDS = 2.0
"""How long a screen gets to change after a tap."""

_ACTIONS = {TapOn: Action.TAP, DoubleTapOn: Action.DOUBLE_TAP, LongPressOn: Action.LONG_PRESS}


async def touched(stage: Stage, command: Touch) -> Deed:
    """Do it as often as it says, and once more where it says so and nothing changed."""
    element = await stage.found(command.selector) if command.selector is not None else None
    target = await _target(stage, command, element)
    before = impression(await stage.watcher.look()) if command.retry_if_no_change else None
    for round_ in range(command.times):
        if round_:
            await stage.device.timer.sleep(command.pause_seconds)
        await _touch(stage, command, target)
    message = await _again(stage, command, target, before) if before is not None else ""
    if command.settle_seconds:
        await still(stage.device, stage.watcher, command.settle_seconds)
    return deed(_ACTIONS[type(command)], element, message)


async def _target(stage: Stage, command: Touch, element: Element | None) -> Element | Point:
    """The element, or the point of it or of the screen."""
    if command.point is None and element is not None:
        return element
    bounds = element.bounds if element is not None else await stage.screen()
    place = command.point
    if place is None:
        return bounds.center
    return point(place, bounds) if element is None or place.relative else Point(bounds.x + place.x, bounds.y + place.y)


async def _touch(stage: Stage, command: Touch, target: Element | Point) -> None:
    match command:
        case TapOn():
            await stage.device.tap(target)
        case DoubleTapOn():
            await stage.device.double_tap(target)
        case LongPressOn():
            await stage.device.long_press(target)


async def _again(stage: Stage, command: Touch, target: Element | Point, before: Impression) -> str:
    """Once more if the screen stays as it was; what is to be said of it."""
    if await changed(stage.watcher, before, CHANGE_SECONDS):
        return ""
    await _touch(stage, command, target)
    then = "then it changed" if await changed(stage.watcher, before, CHANGE_SECONDS) else "it stayed the same"
    return f"the screen did not change, so it was done once more: {then}"
