"""Taps, swipes and scrolls: their arguments and readers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from services.flows.argument_readers import (
    COMMON_FIELDS,
    CRITERIA,
    read_direction,
    read_element,
    read_milliseconds,
    read_position,
    read_selector,
)
from services.flows.command_types import BaseCommand
from services.flows.nodes import Node, read_optional
from services.flows.selectors import Direction, Position, Selector

SETTLE_LIMIT_SECONDS = 60
SCROLL_LIMIT_SECONDS = 600
TIMES_LIMIT = 100

Reader = Callable[[Node], BaseCommand]
"""Reads the arguments of a command. Raise DocumentError."""

_TAP_FIELDS = ("point", "retryTapIfNoChange", "waitToSettleTimeoutMs", "repeat", "delay")


@dataclass(frozen=True, slots=True)
class _Tap(BaseCommand):
    """Tap `times` times, with pauses of `pause_seconds`, then wait up to `settle_seconds` until the screen is stable.

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
        return self.times * (self.pause_seconds + 1) + self.settle_seconds


@dataclass(frozen=True, slots=True)
class TapOn(_Tap):
    pass


@dataclass(frozen=True, slots=True)
class DoubleTapOn(_Tap):
    pass


@dataclass(frozen=True, slots=True)
class LongPressOn(_Tap):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Swipe(BaseCommand):
    """Swipe from `start` to `end`, or in the direction of the finger across the screen or from the element `source`."""

    direction: Direction | None = None
    start: Position | None = None
    end: Position | None = None
    source: Selector | None = None
    seconds: float = 0.4
    settle_seconds: float = 0.0

    @property
    def subject(self) -> str:
        return self.direction or "from point to point"


@dataclass(frozen=True, slots=True)
class Scroll(BaseCommand):
    """Swipe up once, to scroll down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrollUntilVisible(BaseCommand):
    """Scroll until at least `share` (0..1) of the element is visible, then to the middle of the screen if `centered`.

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


def _tap_reader(command: Callable[..., BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_mapping:
            return command(read_selector(node))
        chosen = read_selector(node, also=(*_TAP_FIELDS, *COMMON_FIELDS), required="point" not in node.mapping())
        entries = node.mapping()
        pause = read_optional(entries, "delay", lambda value: read_milliseconds(value, SETTLE_LIMIT_SECONDS))
        return command(
            selector=chosen if set(entries) & set(CRITERIA) else None,
            point=read_optional(entries, "point", read_position),
            retry_if_no_change=read_optional(entries, "retryTapIfNoChange", Node.boolean) or False,
            settle_seconds=_read_settle_seconds(entries),
            times=read_optional(entries, "repeat", lambda value: value.integer(1, TIMES_LIMIT)) or 1,
            pause_seconds=0.1 if pause is None else pause,
        )

    return read


def _read_settle_seconds(entries: Mapping[str, Node]) -> float:
    found = read_optional(
        entries, "waitToSettleTimeoutMs", lambda value: read_milliseconds(value, SETTLE_LIMIT_SECONDS)
    )
    return found or 0.0


def _read_swipe(node: Node) -> BaseCommand:
    timing = ("duration", "waitToSettleTimeoutMs", *COMMON_FIELDS)
    entries = node.fields(("direction", "start", "end", "from", *timing))
    seconds = entries["duration"].number(1, 60_000) / 1000 if "duration" in entries else 0.4
    settle = _read_settle_seconds(entries)
    if "start" in entries or "end" in entries:
        if "direction" in entries or "from" in entries:
            raise node.error("swipe has either start and end, or direction with an optional from")
        both = node.fields(("start", "end", *timing), required=("start", "end"))
        start, end = read_position(both["start"]), read_position(both["end"])
        return Swipe(start=start, end=end, seconds=seconds, settle_seconds=settle)
    if "direction" not in entries:
        raise node.error("swipe needs a direction (up, down, left, right), or start and end")
    source = read_optional(entries, "from", read_element)
    towards = read_direction(entries["direction"])
    return Swipe(direction=towards, source=source, seconds=seconds, settle_seconds=settle)


def _read_scroll(node: Node) -> BaseCommand:
    if not node.is_null:
        node.fields(COMMON_FIELDS)
    return Scroll()


def _read_scroll_until_visible(node: Node) -> BaseCommand:
    options = ("direction", "timeout", "speed", "visibilityPercentage", "centerElement", "waitToSettleTimeoutMs")
    entries = node.fields(("element", *options, *COMMON_FIELDS), required=("element",))
    speed = read_optional(entries, "speed", lambda value: value.number(0, 100))
    share = read_optional(entries, "visibilityPercentage", lambda value: value.number(0, 100))
    timeout = read_optional(entries, "timeout", lambda value: read_milliseconds(value, SCROLL_LIMIT_SECONDS))
    return ScrollUntilVisible(
        selector=read_element(entries["element"]),
        direction=read_optional(entries, "direction", read_direction) or "down",
        timeout_seconds=20.0 if timeout is None else timeout,
        seconds=(100 - (40 if speed is None else speed)) / 100 + 0.001,
        share=1.0 if share is None else share / 100,
        centered=read_optional(entries, "centerElement", Node.boolean) or False,
        settle_seconds=_read_settle_seconds(entries),
    )


TAP_READERS: Mapping[str, Reader] = {
    "tapOn": _tap_reader(TapOn),
    "doubleTapOn": _tap_reader(DoubleTapOn),
    "longPressOn": _tap_reader(LongPressOn),
}
SCROLL_READERS: Mapping[str, Reader] = {
    "swipe": _read_swipe,
    "scroll": _read_scroll,
    "scrollUntilVisible": _read_scroll_until_visible,
}
