"""Taps, swipes and scrolls: what they do, and what a preview of them shows."""

from mobiletest_automation.commands.context import (
    CommandContext,
    FirstMatch,
    command_outcome,
    join_messages,
    preview_element,
    preview_expected,
    preview_value,
)
from mobiletest_automation.commands.selector_search import explain_missing
from mobiletest_automation.devices.gestures import point_at, point_of, scroll, scroll_until, swipe, swipe_between
from mobiletest_automation.devices.stability import wait_for_change, wait_until_stable
from mobiletest_automation.flows import touch_commands as commands
from mobiletest_automation.flows.selectors import Direction
from mobiletest_automation.outcome import StepOutcome, not_found_error
from mobiletest_automation.screen.elements import Bounds, Element, Point
from mobiletest_automation.screen.fingerprint import ScreenState, screen_state
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounding import Grounding

LONG_PRESS_SECONDS = 3.0
# As in Maestro, an element of which more than CENTERED_FROM is visible is centered by at most CENTERING_SWIPES, until
# its middle has passed the middle of the screen, or is this share of the screen before it.
CENTERED_FROM = 0.1
CENTERING_SWIPES = 5
CENTER_MARGIN = 0.2


async def perform_touch(context: CommandContext, command: commands.TouchCommand) -> StepOutcome:
    match command:
        case commands.Swipe():
            return await _swipe(context, command)
        case commands.Scroll():
            await scroll(context.device, context.watcher, "down")
            return command_outcome(command)
        case commands.ScrollUntilVisible():
            return await _scroll_until_visible(context, command)
        case commands.TapOn() | commands.DoubleTapOn() | commands.LongPressOn():
            return await _perform_tap(context, command)


def preview_touch(command: commands.TouchCommand, outline: Outline) -> Grounding:
    match command:
        case commands.Swipe(source=source):
            value = command.direction or f"{command.start} to {command.end}"
            return preview_element(command, source, outline, value)
        case commands.Scroll():
            return preview_value(command, "down")
        case commands.ScrollUntilVisible(selector=selector):
            return preview_expected(command, selector, outline, command.direction)
        case _:
            return preview_element(command, command.selector, outline, None if command.selector else str(command.point))


async def _perform_tap(context: CommandContext, command: commands.TapCommand) -> StepOutcome:
    """As often as the command says, and all of that once more if nothing changed and it says so."""
    matched = None
    if command.selector is not None:
        matched = await context.find_at_rest(command.selector, command.settle_seconds)
    context.watcher.in_motion = False
    element = matched.element if matched is not None else None
    target = await _tap_target(context, command, element)
    before = screen_state(await context.watcher.look()) if command.retry_if_no_change else None
    await _tap(context, command, target)
    message = await _retry_unchanged(context, command, target, before) if before is not None else ""
    if command.settle_seconds:
        await wait_until_stable(context.device, context.watcher, command.settle_seconds)
    return command_outcome(command, element, join_messages(matched.message if matched is not None else "", message))


async def _tap_target(
    context: CommandContext, command: commands.TapCommand, element: Element | None
) -> Element | Point:
    """The element, or a point of it or of the screen."""
    point = command.point
    if element is not None:
        return element if point is None else point_of(element, point)
    screen = await context.device.view.screen_bounds()
    return screen.center if point is None else point_at(point, screen)


async def _tap(context: CommandContext, command: commands.TapCommand, target: Element | Point) -> None:
    for round_ in range(command.times):
        if round_:
            await context.device.timer.sleep(command.pause_seconds)
        match command:
            case commands.TapOn():
                await context.device.view.tap(target)
            case commands.DoubleTapOn():
                await context.device.view.tap(target, times=2)
            case commands.LongPressOn():
                await context.device.view.long_press(target, LONG_PRESS_SECONDS)


async def _retry_unchanged(
    context: CommandContext, command: commands.TapCommand, target: Element | Point, before: ScreenState
) -> str:
    """Tap once more if the screen has not changed; returns the message."""
    if await wait_for_change(context.watcher, before):
        return ""
    await _tap(context, command, target)
    then = "then it changed" if await wait_for_change(context.watcher, before) else "it stayed the same"
    return f"the screen did not change, so the tap was repeated: {then}"


async def _swipe(context: CommandContext, command: commands.Swipe) -> StepOutcome:
    device, watcher = context.device, context.watcher
    matched = await context.find_at_rest(command.source) if command.source is not None else None
    if command.direction is not None:
        start = point_of(matched.element, command.source_point) if matched is not None else None
        await swipe(device, watcher, command.direction, start=start, seconds=command.seconds)
    elif command.start is not None and command.end is not None:
        screen = await device.view.screen_bounds()
        start, end = point_at(command.start, screen), point_at(command.end, screen)
        await swipe_between(device, watcher, start, end, command.seconds)
    if command.settle_seconds:
        await wait_until_stable(device, watcher, command.settle_seconds)
    return command_outcome(command) if matched is None else command_outcome(command, matched.element, matched.message)


async def _scroll_until_visible(context: CommandContext, command: commands.ScrollUntilVisible) -> StepOutcome:
    condition = _SufficientlyVisible(command)
    element = await scroll_until(
        context.device,
        context.watcher,
        command.direction,
        condition,
        command.timeout_seconds,
        swipe_seconds=command.seconds,
        settle_seconds=command.settle_seconds,
        before_scroll=condition.count_swipe,
    )
    if element is None:
        screen = context.watcher.seen
        missing, why = _describe_missing(command, condition.partly), explain_missing(command.selector, screen)
        raise not_found_error(missing, command.timeout_seconds, screen, why)
    return command_outcome(command, element)


def _describe_missing(command: commands.ScrollUntilVisible, partly: float) -> str:
    if partly <= 0:
        return str(command.selector)
    return f"{command.selector} ({partly:.0%} of it was visible, {command.share:.0%} is required)"


class _SufficientlyVisible:
    """The element, if enough of it is on the screen, and near the middle as long as the command can center it.

    `partly` is the largest share that was on the screen.
    """

    def __init__(self, command: commands.ScrollUntilVisible) -> None:
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
