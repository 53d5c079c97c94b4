"""Swipes and scrolls by direction."""

from collections.abc import Callable

from mobiletest_automation.devices.port import Device, script_error
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.flows.selectors import Position
from mobiletest_automation.screen.elements import Bounds, Element, Point
from mobiletest_automation.screen.fingerprint import ScreenState, screen_state
from mobiletest_automation.screen.outline import Outline

# Start and end of the finger, as fractions of width and height, as in Maestro.
_SWIPE_PATHS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "up": ((0.5, 0.5), (0.5, 0.1)),
    "down": ((0.5, 0.2), (0.5, 0.9)),
    "left": ((0.9, 0.5), (0.1, 0.5)),
    "right": ((0.1, 0.5), (0.9, 0.5)),
}

# The path upwards on iOS.
_IOS_UP = ((0.5, 0.9), (0.5, 0.1))

# To scroll down, the finger moves up.
_FINGER_DIRECTION = {"down": "up", "up": "down", "left": "right", "right": "left"}

SCROLL_LIMIT = 50
# How long an element is searched for before the next scroll.
SEARCH_SECONDS = 0.5


async def swipe(
    device: Device, watcher: Watcher, direction: str, *, start: Point | None = None, seconds: float = 0.4
) -> None:
    """Move the finger in a direction, across the screen or from a point."""
    screen = await device.view.screen_bounds()
    if start is None:
        ios_up = direction == "up" and device.info.flow_platform == "ios"
        begin, end = (screen.at(*point) for point in (_IOS_UP if ios_up else _SWIPE_PATHS[direction]))
    else:
        begin, end = start, _end(direction, start, screen)
    await swipe_between(device, watcher, begin, end, seconds)


async def swipe_between(device: Device, watcher: Watcher, start: Point, end: Point, seconds: float) -> None:
    """Move the finger from one point to another."""
    watcher.in_motion = True
    await device.view.swipe(start, end, seconds)


def _end(direction: str, start: Point, screen: Bounds) -> Point:
    """Where a swipe from a point ends: at a tenth of the screen from its edge, or at the edge if it starts there."""
    x, y = start.x, start.y
    match direction:
        case "up":
            y = screen.at(0, 0.1).y if y > screen.at(0, 0.1).y else screen.y
        case "down":
            y = screen.at(0, 0.9).y if y < screen.at(0, 0.9).y else screen.bottom
        case "left":
            x = screen.at(0.1, 0).x if x > screen.at(0.1, 0).x else screen.x
        case _:
            x = screen.at(0.9, 0).x if x < screen.at(0.9, 0).x else screen.right
    return Point(min(max(x, screen.x + 1), screen.right - 1), min(max(y, screen.y + 1), screen.bottom - 1))


def point_of(element: Element, position: Position | None) -> Point:
    """A point of an element, whose pixels count from its corner; its middle without a position.

    script_error for pixels outside of the element, as in Maestro.
    """
    bounds = element.bounds
    if position is None:
        return bounds.center
    if position.relative:
        return point_at(position, bounds)
    if not (0 <= position.x < bounds.width and 0 <= position.y < bounds.height):
        size = f"{bounds.width:g} x {bounds.height:g}"
        raise script_error(f"the point {position} is outside of {element.describe()}, which is {size} pixels large")
    return Point(bounds.x + position.x, bounds.y + position.y)


def point_at(position: Position, screen: Bounds) -> Point:
    return screen.at(position.x, position.y) if position.relative else Point(position.x, position.y)


async def scroll(device: Device, watcher: Watcher, direction: str, seconds: float = 0.4) -> None:
    """Reveal what is further in a direction, by a swipe from the middle of the screen."""
    middle = (await device.view.screen_bounds()).center
    await swipe(device, watcher, _FINGER_DIRECTION[direction], start=middle, seconds=seconds)


async def scroll_to_end(device: Device, watcher: Watcher, direction: str) -> None:
    """Scroll until the screen no longer changes."""
    before: ScreenState | None = None
    for _ in range(SCROLL_LIMIT):
        now = screen_state(await watcher.look())
        if now == before:
            return
        before = now
        await scroll(device, watcher, direction)


async def scroll_until(
    device: Device,
    watcher: Watcher,
    direction: str,
    find: Callable[[Outline], Element | None],
    seconds: float,
    *,
    swipe_seconds: float = 0.4,
    settle_seconds: float = 0.0,
    before_scroll: Callable[[], None] = lambda: None,
) -> Element | None:
    """The element that `find` returns after scrolling as far as needed; None after `seconds` and at least one swipe.

    After each swipe it searches for SEARCH_SECONDS, or for `settle_seconds` if that is longer. `before_scroll` is
    called before each swipe.
    """
    deadline = device.timer.now() + seconds
    swiped = False
    while True:
        element = await watcher.until(find, max(SEARCH_SECONDS, settle_seconds))
        if element is not None or (swiped and device.timer.now() >= deadline):
            return element
        before_scroll()
        swiped = True
        await scroll(device, watcher, direction, swipe_seconds)
