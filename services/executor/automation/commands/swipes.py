"""Swipes and scrolls of commands."""

from services.executor.automation.commands.context import CommandContext, FirstMatch, command_outcome
from services.executor.automation.devices.gestures import point_at, point_of, scroll, scroll_until, swipe
from services.executor.automation.devices.stability import wait_until_stable
from services.executor.automation.outcome import StepOutcome, not_found_error
from services.executor.automation.screen.elements import Bounds, Element
from services.executor.automation.screen.outline import Outline
from services.flows.commands import Scroll, ScrollUntilVisible, Swipe
from services.flows.steps import SwipeCommand

CENTER_TOLERANCE = 0.1
"""An element within this share of the screen from the middle counts as centered."""


async def perform_swipe(context: CommandContext, command: SwipeCommand) -> StepOutcome:
    match command:
        case Swipe():
            return await _swipe(context, command)
        case Scroll():
            await scroll(context.device, "down")
            return command_outcome(command)
        case ScrollUntilVisible():
            return await _scroll_until_visible(context, command)


async def _swipe(context: CommandContext, command: Swipe) -> StepOutcome:
    source = await context.find(command.source) if command.source is not None else None
    if command.direction is not None and source is not None:
        start = point_of(source, command.source_point)
        await swipe(context.device, command.direction, start=start, seconds=command.seconds)
    elif command.direction is not None:
        await swipe(context.device, command.direction, seconds=command.seconds)
    elif command.start is not None and command.end is not None:
        screen = await context.device.screen_bounds()
        await context.device.swipe(point_at(command.start, screen), point_at(command.end, screen), command.seconds)
    if command.settle_seconds:
        await wait_until_stable(context.device, context.watcher, command.settle_seconds)
    return command_outcome(command, source)


async def _scroll_until_visible(context: CommandContext, command: ScrollUntilVisible) -> StepOutcome:
    found = _SufficientlyVisible(command)
    element = await scroll_until(
        context.device,
        context.watcher,
        command.direction,
        found,
        command.timeout_seconds,
        swipe_seconds=command.seconds,
        settle_seconds=command.settle_seconds,
    )
    if element is None:
        raise not_found_error(_describe_missing(command, found.partly), command.timeout_seconds, context.watcher.seen)
    if command.centered:
        element = await _center(context, command, element)
    return command_outcome(command, element)


def _describe_missing(command: ScrollUntilVisible, partly: float) -> str:
    if partly <= 0:
        return str(command.selector)
    return f"{command.selector} ({partly:.0%} of it was visible, {command.share:.0%} is required)"


class _SufficientlyVisible:
    """The element, if enough of it is on the screen; `partly` is the largest share that was."""

    def __init__(self, command: ScrollUntilVisible) -> None:
        self._first = FirstMatch(command.selector)
        self._share = command.share
        self.partly = 0.0

    def __call__(self, outline: Outline) -> Element | None:
        element = self._first(outline)
        if element is None:
            return None
        share = visible_share(outline.root.bounds, element.bounds)
        self.partly = max(self.partly, share)
        return element if share >= self._share - 0.005 else None


def visible_share(screen: Bounds, bounds: Bounds) -> float:
    """The share (0..1) of a rectangle that is on the screen; 1 for one without a size."""
    if bounds.width <= 0 or bounds.height <= 0:
        return 1.0
    visible = bounds.intersection(screen)
    return visible.width * visible.height / (bounds.width * bounds.height) if visible is not None else 0.0


async def _center(context: CommandContext, command: ScrollUntilVisible, element: Element) -> Element:
    """Scroll the element to the middle of the screen, as far as possible."""
    screen = await context.device.screen_bounds()
    middle, here = screen.center, element.bounds.center
    along = command.direction in ("up", "down")
    way = (0.0, middle.y - here.y) if along else (middle.x - here.x, 0.0)
    if abs(way[0]) <= screen.width * CENTER_TOLERANCE and abs(way[1]) <= screen.height * CENTER_TOLERANCE:
        return element
    start = screen.at(0.5 - way[0] / screen.width / 2, 0.5 - way[1] / screen.height / 2)
    end = screen.at(0.5 + way[0] / screen.width / 2, 0.5 + way[1] / screen.height / 2)
    await context.device.swipe(start, end, command.seconds)
    return await context.watcher.until(FirstMatch(command.selector), 1.0) or element
