"""Swipes and scrolls of commands."""

from services.executor.automation.deeds import Deed
from services.executor.automation.elements import Bounds, Element
from services.executor.automation.failing import not_found
from services.executor.automation.gestures import point, scroll, scroll_until, swipe
from services.executor.automation.sentences.intents import Action
from services.executor.automation.sentences.matching import Outline
from services.executor.automation.staging import First, Stage, deed
from services.executor.automation.stillness import still
from services.flows.command_types import Scroll, ScrollUntilVisible, Swipe

Moving = Swipe | Scroll | ScrollUntilVisible

NEAR = 0.1
"""An element this near to the middle, as a share of the screen, is in the middle."""


async def moved(stage: Stage, command: Moving) -> Deed:
    match command:
        case Swipe():
            return await _swiped(stage, command)
        case Scroll():
            await scroll(stage.device, "down")
            return deed(Action.SCROLL)
        case ScrollUntilVisible():
            return await _scrolled(stage, command)


async def _swiped(stage: Stage, command: Swipe) -> Deed:
    source = await stage.found(command.source) if command.source is not None else None
    if command.direction is not None:
        await swipe(stage.device, command.direction, source=source, seconds=command.seconds)
    elif command.start is not None and command.end is not None:
        screen = await stage.screen()
        await stage.device.swipe(point(command.start, screen), point(command.end, screen), command.seconds)
    if command.settle_seconds:
        await still(stage.device, stage.watcher, command.settle_seconds)
    return deed(Action.SWIPE, source)


async def _scrolled(stage: Stage, command: ScrollUntilVisible) -> Deed:
    found = _Shown(command)
    element = await scroll_until(
        stage.device,
        stage.watcher,
        command.direction,
        found,
        command.timeout_seconds,
        swipe_seconds=command.seconds,
        settle_seconds=command.settle_seconds,
    )
    if element is None:
        raise not_found(_wanted(command, found.partly), command.timeout_seconds, stage.watcher.seen)
    if command.centered:
        element = await _centered(stage, command, element)
    return deed(Action.SCROLL_UNTIL_VISIBLE, element)


def _wanted(command: ScrollUntilVisible, partly: float) -> str:
    if partly <= 0:
        return str(command.selector)
    return f"{command.selector} ({partly:.0%} of it was to be seen, not {command.share:.0%})"


class _Shown:
    """The element, if enough of it is on the screen; `partly` is how much was at best."""

    def __init__(self, command: ScrollUntilVisible) -> None:
        self._first = First(command.selector)
        self._share = command.share
        self.partly = 0.0

    def __call__(self, outline: Outline) -> Element | None:
        element = self._first(outline)
        if element is None:
            return None
        share = share_on(outline.root.bounds, element.bounds)
        self.partly = max(self.partly, share)
        return element if share >= self._share - 0.005 else None


def share_on(screen: Bounds, bounds: Bounds) -> float:
    """Which share (0..1) of a rectangle lies on the screen; all of one without a size."""
    if bounds.width <= 0 or bounds.height <= 0:
        return 1.0
    width = min(bounds.right, screen.right) - max(bounds.x, screen.x)
    height = min(bounds.bottom, screen.bottom) - max(bounds.y, screen.y)
    return max(width, 0) * max(height, 0) / (bounds.width * bounds.height)


async def _centered(stage: Stage, command: ScrollUntilVisible, element: Element) -> Element:
    """Move what was found to the middle of the screen, as far as that can be scrolled."""
    screen = await stage.screen()
    middle, here = screen.center, element.bounds.center
    along = command.direction in ("up", "down")
    way = (0.0, middle.y - here.y) if along else (middle.x - here.x, 0.0)
    if abs(way[0]) <= screen.width * NEAR and abs(way[1]) <= screen.height * NEAR:
        return element
    start = screen.at(0.5 - way[0] / screen.width / 2, 0.5 - way[1] / screen.height / 2)
    end = screen.at(0.5 + way[0] / screen.width / 2, 0.5 + way[1] / screen.height / 2)
    await stage.device.swipe(start, end, command.seconds)
    return await stage.watcher.until(First(command.selector), 1.0) or element
