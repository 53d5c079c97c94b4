"""Swipes and scrolls of commands."""

from mobiletest_automation.commands.context import CommandContext, FirstMatch, command_outcome
from mobiletest_automation.commands.selector_search import explain_missing
from mobiletest_automation.devices.gestures import point_at, point_of, scroll, scroll_until, swipe, swipe_between
from mobiletest_automation.devices.stability import wait_until_stable
from mobiletest_automation.flows.selectors import Direction
from mobiletest_automation.flows.touch_commands import Scroll, ScrollUntilVisible, Swipe, SwipeCommand
from mobiletest_automation.outcome import StepOutcome, not_found_error
from mobiletest_automation.screen.elements import Bounds, Element
from mobiletest_automation.screen.outline import Outline

# As in Maestro, an element of which more than CENTERED_FROM is visible is centered by at most CENTERING_SWIPES, until
# its middle has passed the middle of the screen, or is this share of the screen before it.
CENTERED_FROM = 0.1
CENTERING_SWIPES = 5
CENTER_MARGIN = 0.2


async def perform_swipe(context: CommandContext, command: SwipeCommand) -> StepOutcome:
    match command:
        case Swipe():
            return await _swipe(context, command)
        case Scroll():
            await scroll(context.device, context.watcher, "down")
            return command_outcome(command)
        case ScrollUntilVisible():
            return await _scroll_until_visible(context, command)


async def _swipe(context: CommandContext, command: Swipe) -> StepOutcome:
    device, watcher = context.device, context.watcher
    found = await context.find_at_rest(command.source) if command.source is not None else None
    if command.direction is not None:
        start = point_of(found.element, command.source_point) if found is not None else None
        await swipe(device, watcher, command.direction, start=start, seconds=command.seconds)
    elif command.start is not None and command.end is not None:
        screen = await device.screen_bounds()
        start, end = point_at(command.start, screen), point_at(command.end, screen)
        await swipe_between(device, watcher, start, end, command.seconds)
    if command.settle_seconds:
        await wait_until_stable(device, watcher, command.settle_seconds)
    return command_outcome(command, found.element, found.message) if found is not None else command_outcome(command)


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
        before_scroll=found.count_swipe,
    )
    if element is None:
        screen = context.watcher.seen
        missing, why = _describe_missing(command, found.partly), explain_missing(command.selector, screen)
        raise not_found_error(missing, command.timeout_seconds, screen, why)
    return command_outcome(command, element)


def _describe_missing(command: ScrollUntilVisible, partly: float) -> str:
    if partly <= 0:
        return str(command.selector)
    return f"{command.selector} ({partly:.0%} of it was visible, {command.share:.0%} is required)"


class _SufficientlyVisible:
    """The element, if enough of it is on the screen, and near the middle as long as the command can center it.

    `partly` is the largest share that was on the screen.
    """

    def __init__(self, command: ScrollUntilVisible) -> None:
        self._first = FirstMatch(command.selector)
        self._command = command
        self._centering = False
        self._swipes = 0
        self.partly = 0.0

    def __call__(self, outline: Outline) -> Element | None:
        element = self._first(outline)
        if element is None:
            return None
        screen = outline.root.bounds
        share = element.bounds.share_within(screen) if element.bounds.width or element.bounds.height else 1.0
        self.partly = max(self.partly, share)
        self._centering = self._command.centered and share > CENTERED_FROM and self._swipes < CENTERING_SWIPES
        enough = (
            _is_near_middle(element.bounds, screen, self._command.direction)
            if self._centering
            else share >= self._command.share - 0.005
        )
        return element if enough else None

    def count_swipe(self) -> None:
        """Note that the screen is swiped now."""
        self._swipes += self._centering
        self._centering = False


def _is_near_middle(bounds: Bounds, screen: Bounds, direction: Direction) -> bool:
    """Whether it has come as far as the middle of the screen, or nearly; `direction` is the one of scrolling."""
    x = (bounds.center.x - screen.x) / (screen.width or 1)
    y = (bounds.center.y - screen.y) / (screen.height or 1)
    match direction:
        case "down":
            return y < 0.5 + CENTER_MARGIN
        case "up":
            return y > 0.5 - CENTER_MARGIN
        case "left":
            return x > 0.5 - CENTER_MARGIN
        case "right":
            return x < 0.5 + CENTER_MARGIN
