"""Taps, swipes and scrolls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from mobiletest_automation.flows.commands import (
    BaseCommand,
    CommandSpec,
    Reader,
    bare_reader,
    milliseconds_or_none,
    read_settle_seconds,
)
from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.selectors import (
    COMMON_FIELDS,
    CRITERIA,
    Direction,
    Position,
    Selector,
    read_direction,
    read_element,
    read_position,
    read_selector,
)

SCROLL_LIMIT_SECONDS = 600
SWIPE_LIMIT_SECONDS = 60
TIMES_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class _Tap(BaseCommand):
    """Tap `times` times, with pauses of `pause_seconds`; before and after that wait until the screen is stable, up to
    `settle_seconds`.

    `point` is relative to the element, or to the screen if there is no selector. `retry_if_no_change` taps again
    if the screen stays the same.
    """

    selector: Selector | None = None
    point: Position | None = None
    retry_if_no_change: bool = False
    settle_seconds: float = 0.0
    times: int = 1
    pause_seconds: float = 0.1

    @property
    def subject(self) -> str:
        return ", ".join(str(each) for each in (self.selector, self.point) if each is not None)

    @property
    def declared_seconds(self) -> float:
        return self.times * (self.pause_seconds + 1) + 2 * self.settle_seconds


@dataclass(frozen=True, slots=True)
class TapOn(_Tap):
    ACTION: ClassVar = "tap"


@dataclass(frozen=True, slots=True)
class DoubleTapOn(_Tap):
    ACTION: ClassVar = "double_tap"


@dataclass(frozen=True, slots=True)
class LongPressOn(_Tap):
    ACTION: ClassVar = "long_press"


def _tap_reader(command: Callable[..., BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_mapping:
            return command(read_selector(node))
        selector = read_selector(node, required="point" not in node.mapping())
        entries = node.mapping()
        pause = read_optional(entries, "delay", lambda value: value.number(-60_000, 60_000) / 1000)
        return command(
            selector=selector if set(entries) & set(CRITERIA) else None,
            point=read_optional(entries, "point", read_position),
            retry_if_no_change=read_optional(entries, "retryTapIfNoChange", Node.boolean) or False,
            settle_seconds=read_settle_seconds(entries),
            times=_read_times(entries) if command is TapOn else 1,
            pause_seconds=0.1 if pause is None or pause < 0 else pause,
        )

    return read


def _read_times(entries: Mapping[str, Node]) -> int:
    """How often to tap; less than once is once. Only tapOn has it, as in Maestro."""
    return max(1, read_optional(entries, "repeat", lambda value: value.integer(-TIMES_LIMIT, TIMES_LIMIT)) or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swipe(BaseCommand):
    """Swipe from `start` to `end`, or in the direction of the finger across the screen or from the element `source`.

    `source_point` is relative to the element; its middle without one.
    """

    direction: Direction | None = None
    start: Position | None = None
    end: Position | None = None
    source: Selector | None = None
    source_point: Position | None = None
    seconds: float = 0.4
    settle_seconds: float = 0.0

    @property
    def subject(self) -> str:
        return self.direction or "from point to point"


def _read_swipe(node: Node) -> BaseCommand:
    timing = ("duration", "waitToSettleTimeoutMs", *COMMON_FIELDS)
    entries = node.fields(("direction", "start", "end", "from", *timing))
    seconds = max(entries["duration"].number(0, SWIPE_LIMIT_SECONDS * 1000), 1) / 1000 if "duration" in entries else 0.4
    settle = read_settle_seconds(entries)
    if "start" in entries or "end" in entries:
        if "direction" in entries or "from" in entries:
            raise node.error("swipe has either start and end, or direction with an optional from")
        both = node.fields(("start", "end", *timing), required=("start", "end"))
        start, end = read_position(both["start"]), read_position(both["end"])
        return Swipe(start=start, end=end, seconds=seconds, settle_seconds=settle)
    if "direction" not in entries:
        raise node.error("swipe needs a direction (up, down, left, right), or start and end")
    source = entries.get("from")
    return Swipe(
        direction=read_direction(entries["direction"]),
        source=None if source is None else read_selector(source),
        source_point=read_optional(source.mapping(), "point", read_position) if source and source.is_mapping else None,
        seconds=seconds,
        settle_seconds=settle,
    )


@dataclass(frozen=True, slots=True)
class Scroll(BaseCommand):
    """Swipe up once, to scroll down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrollUntilVisible(BaseCommand):
    """Scroll until at least `share` (0..1) of the element is visible, or near the middle of the screen if `centered`.

    `direction` leads to the element; one swipe takes `seconds`.
    """

    selector: Selector
    direction: Direction = "down"
    timeout_seconds: float = 20.0
    seconds: float = 0.6
    share: float = 1.0
    centered: bool = False
    settle_seconds: float = 0.0

    @property
    def subject(self) -> str:
        return str(self.selector)

    @property
    def declared_seconds(self) -> float:
        return self.timeout_seconds + self.settle_seconds


def _read_scroll_until_visible(node: Node) -> BaseCommand:
    options = ("direction", "timeout", "speed", "visibilityPercentage", "centerElement", "waitToSettleTimeoutMs")
    entries = node.fields(("element", *options, *COMMON_FIELDS), required=("element",))
    speed = read_optional(entries, "speed", lambda value: value.number(-1e6, 1e6))
    share = read_optional(entries, "visibilityPercentage", lambda value: value.number(-1e6, 1e6))
    timeout = read_optional(entries, "timeout", milliseconds_or_none(SCROLL_LIMIT_SECONDS))
    return ScrollUntilVisible(
        selector=read_element(entries["element"]),
        direction=read_optional(entries, "direction", read_direction) or "down",
        timeout_seconds=20.0 if timeout is None else timeout,
        seconds=_swipe_seconds(40 if speed is None else speed),
        share=1.0 if share is None else min(max(share, 0), 100) / 100,
        centered=read_optional(entries, "centerElement", Node.boolean) or False,
        settle_seconds=read_settle_seconds(entries),
    )


def _swipe_seconds(speed: float) -> float:
    """How long one swipe of a scroll takes; as in Maestro, 40 ms above 100, and longer than a second below 0."""
    return 0.04 if speed > 100 else min((100 - speed) / 100 + 0.001, SWIPE_LIMIT_SECONDS)


TapCommand: TypeAlias = TapOn | DoubleTapOn | LongPressOn
TouchCommand: TypeAlias = TapCommand | Swipe | Scroll | ScrollUntilVisible
TOUCH_COMMANDS = (
    CommandSpec("tapOn", _tap_reader(TapOn)),
    CommandSpec("doubleTapOn", _tap_reader(DoubleTapOn)),
    CommandSpec("longPressOn", _tap_reader(LongPressOn)),
    CommandSpec("swipe", _read_swipe),
    CommandSpec(
        "scroll",
        bare_reader(Scroll()),
        "this, `swipe` and `scrollUntilVisible`: in browsers the finger moves over the page, where Maestro scrolls the "
        "window by half its height",
    ),
    CommandSpec("scrollUntilVisible", _read_scroll_until_visible),
)
