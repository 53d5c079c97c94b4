"""Reads the commands of the finger: taps, swipes and scrolls."""

from collections.abc import Callable, Mapping

from services.flows import actions
from services.flows.commands import Command
from services.flows.nodes import Node, given
from services.flows.reading import COMMON, CRITERIA, direction, element, milliseconds, position, selector

SETTLE_LIMIT_SECONDS = 60
SCROLL_LIMIT_SECONDS = 600
TIMES_LIMIT = 100

Reader = Callable[[Node], Command]

_TOUCH = ("point", "retryTapIfNoChange", "waitToSettleTimeoutMs", "repeat", "delay")


def _touching(command: Callable[..., Command]) -> Reader:
    def read(node: Node) -> Command:
        if not node.is_mapping:
            return command(selector(node))
        chosen = selector(node, also=(*_TOUCH, *COMMON), required="point" not in node.mapping())
        entries = node.mapping()
        pause = given(entries, "delay", lambda found: milliseconds(found, SETTLE_LIMIT_SECONDS))
        return command(
            selector=chosen if set(entries) & set(CRITERIA) else None,
            point=given(entries, "point", position),
            retry_if_no_change=given(entries, "retryTapIfNoChange", Node.boolean) or False,
            settle_seconds=_settle_seconds(entries),
            times=given(entries, "repeat", lambda found: found.integer(1, TIMES_LIMIT)) or 1,
            pause_seconds=0.1 if pause is None else pause,
        )

    return read


def _settle_seconds(entries: Mapping[str, Node]) -> float:
    found = given(entries, "waitToSettleTimeoutMs", lambda found: milliseconds(found, SETTLE_LIMIT_SECONDS))
    return found or 0.0


def _swipe(node: Node) -> Command:
    timing = ("duration", "waitToSettleTimeoutMs", *COMMON)
    entries = node.fields(("direction", "start", "end", "from", *timing))
    seconds = entries["duration"].number(1, 60_000) / 1000 if "duration" in entries else 0.4
    settle = _settle_seconds(entries)
    if "start" in entries or "end" in entries:
        if "direction" in entries or "from" in entries:
            raise node.fault("swipe has either start and end, or direction with an optional from")
        both = node.fields(("start", "end", *timing), required=("start", "end"))
        start, end = position(both["start"]), position(both["end"])
        return actions.Swipe(start=start, end=end, seconds=seconds, settle_seconds=settle)
    if "direction" not in entries:
        raise node.fault("swipe needs a direction (up, down, left, right), or start and end")
    source = given(entries, "from", element)
    towards = direction(entries["direction"])
    return actions.Swipe(direction=towards, source=source, seconds=seconds, settle_seconds=settle)


def _scroll(node: Node) -> Command:
    if not node.is_null:
        node.fields(COMMON)
    return actions.Scroll()


def _scroll_until_visible(node: Node) -> Command:
    said = ("direction", "timeout", "speed", "visibilityPercentage", "centerElement", "waitToSettleTimeoutMs")
    entries = node.fields(("element", *said, *COMMON), required=("element",))
    speed = given(entries, "speed", lambda found: found.number(0, 100))
    share = given(entries, "visibilityPercentage", lambda found: found.number(0, 100))
    timeout = given(entries, "timeout", lambda found: milliseconds(found, SCROLL_LIMIT_SECONDS))
    return actions.ScrollUntilVisible(
        selector=element(entries["element"]),
        direction=given(entries, "direction", direction) or "down",
        timeout_seconds=20.0 if timeout is None else timeout,
        seconds=(100 - (40 if speed is None else speed)) / 100 + 0.001,
        share=1.0 if share is None else share / 100,
        centered=given(entries, "centerElement", Node.boolean) or False,
        settle_seconds=_settle_seconds(entries),
    )


TOUCHING: Mapping[str, Reader] = {
    "tapOn": _touching(actions.TapOn),
    "doubleTapOn": _touching(actions.DoubleTapOn),
    "longPressOn": _touching(actions.LongPressOn),
}
MOVING: Mapping[str, Reader] = {
    "swipe": _swipe,
    "scroll": _scroll,
    "scrollUntilVisible": _scroll_until_visible,
}
