"""Readers of the commands that act on the screen, and of checks and waits."""

from collections.abc import Callable, Mapping

from mobiletest_automation.flows import commands
from mobiletest_automation.flows.arguments import (
    WAIT_LIMIT_SECONDS,
    Reader,
    bare_reader,
    milliseconds,
    milliseconds_or_none,
    optional_argument,
    read_settle_seconds,
    single_argument,
    text_reader,
)
from mobiletest_automation.flows.capture_readers import CAPTURE_READERS
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.device_commands import ClearKeychain
from mobiletest_automation.flows.nodes import Node, quote, read_optional, scalar_text, suggest
from mobiletest_automation.flows.selectors import (
    COMMON_FIELDS,
    CRITERIA,
    Selector,
    read_direction,
    read_element,
    read_position,
    read_selector,
    read_truth,
)

_REMOTE = (
    *("dpad up", "dpad down", "dpad left", "dpad right", "dpad center"),
    *("media play pause", "media stop", "media next", "media previous", "media rewind", "media fast forward"),
    *("system navigation up", "system navigation down", "button a", "button b", "menu"),
)
KEYS = (
    *("enter", "backspace", "delete", "tab", "space", "escape", "search"),
    *("back", "home", "lock", "power", "volume up", "volume down"),
    *(f"remote {name}" for name in _REMOTE),
    *("tv input", "tv input hdmi 1", "tv input hdmi 2", "tv input hdmi 3"),
)
SCROLL_LIMIT_SECONDS = 600
SWIPE_LIMIT_SECONDS = 60
TIMES_LIMIT = 1_000


def _read_erase_text(node: Node) -> BaseCommand:
    argument = optional_argument(node, "charactersToErase")
    return commands.EraseText() if argument is None else commands.EraseText(argument.integer(0, 10_000))


def _read_action(node: Node) -> BaseCommand:
    """The command without arguments of this name."""
    name = node.string().strip()
    if node.pending:
        return commands.Back()
    if name not in _ACTIONS:
        raise node.error(f"expected one of {', '.join(_ACTIONS)}, not {quote(node.raw)}{suggest(name, _ACTIONS)}")
    return _ACTIONS[name]


def _read_press_key(node: Node) -> BaseCommand:
    return commands.PressKey(single_argument(node, "key").choice(KEYS))


def _read_assert_true(node: Node) -> BaseCommand:
    argument = single_argument(node, "condition")
    value = argument.typed  # `no` without quotes is false, and "no" is a text, which is true
    text = scalar_text(value) if isinstance(value, bool | int | float) else read_truth(argument)
    return commands.AssertTrue(text, argument.template)


def _read_extended_wait_until(node: Node) -> BaseCommand:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON_FIELDS))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.error("extendedWaitUntil needs visible or notVisible")
    return commands.ExtendedWaitUntil(
        visible=read_optional(entries, "visible", read_element),
        not_visible=read_optional(entries, "notVisible", read_element),
        timeout_seconds=read_optional(entries, "timeout", milliseconds(WAIT_LIMIT_SECONDS)),
    )


def _read_wait_for_animation_to_end(node: Node) -> BaseCommand:
    entries = {} if node.is_null else node.fields(("timeout", *COMMON_FIELDS))
    seconds = read_optional(entries, "timeout", milliseconds_or_none(WAIT_LIMIT_SECONDS))
    return commands.WaitForAnimationToEnd() if seconds is None else commands.WaitForAnimationToEnd(seconds)


def _selector_reader(command: Callable[[Selector], BaseCommand]) -> Reader:
    return lambda node: command(read_element(node))


def _tap_reader(command: Callable[..., BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_mapping:
            return command(read_selector(node))
        chosen = read_selector(node, required="point" not in node.mapping())
        entries = node.mapping()
        pause = read_optional(entries, "delay", lambda value: value.number(-60_000, 60_000) / 1000)
        return command(
            selector=chosen if set(entries) & set(CRITERIA) else None,
            point=read_optional(entries, "point", read_position),
            retry_if_no_change=read_optional(entries, "retryTapIfNoChange", Node.boolean) or False,
            settle_seconds=read_settle_seconds(entries),
            times=_read_times(entries) if command is commands.TapOn else 1,
            pause_seconds=0.1 if pause is None or pause < 0 else pause,
        )

    return read


def _read_times(entries: Mapping[str, Node]) -> int:
    """How often to tap; less than once is once. Only tapOn has it, as in Maestro."""
    return max(1, read_optional(entries, "repeat", lambda value: value.integer(-TIMES_LIMIT, TIMES_LIMIT)) or 1)


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
        return commands.Swipe(start=start, end=end, seconds=seconds, settle_seconds=settle)
    if "direction" not in entries:
        raise node.error("swipe needs a direction (up, down, left, right), or start and end")
    source = entries.get("from")
    return commands.Swipe(
        direction=read_direction(entries["direction"]),
        source=None if source is None else read_selector(source),
        source_point=read_optional(source.mapping(), "point", read_position) if source and source.is_mapping else None,
        seconds=seconds,
        settle_seconds=settle,
    )


def _read_scroll_until_visible(node: Node) -> BaseCommand:
    options = ("direction", "timeout", "speed", "visibilityPercentage", "centerElement", "waitToSettleTimeoutMs")
    entries = node.fields(("element", *options, *COMMON_FIELDS), required=("element",))
    speed = read_optional(entries, "speed", lambda value: value.number(-1e6, 1e6))
    share = read_optional(entries, "visibilityPercentage", lambda value: value.number(-1e6, 1e6))
    timeout = read_optional(entries, "timeout", milliseconds_or_none(SCROLL_LIMIT_SECONDS))
    return commands.ScrollUntilVisible(
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


_ACTIONS: Mapping[str, BaseCommand] = {
    "back": commands.Back(),
    "hideKeyboard": commands.HideKeyboard(),
    "scroll": commands.Scroll(),
    "clearKeychain": ClearKeychain(),
    "pasteText": commands.PasteText(),
}

COMMAND_READERS: Mapping[str, Reader] = {
    "tapOn": _tap_reader(commands.TapOn),
    "doubleTapOn": _tap_reader(commands.DoubleTapOn),
    "longPressOn": _tap_reader(commands.LongPressOn),
    "swipe": _read_swipe,
    "scroll": bare_reader(commands.Scroll()),
    "scrollUntilVisible": _read_scroll_until_visible,
    "inputText": text_reader(commands.InputText),
    "eraseText": _read_erase_text,
    "copyTextFrom": _selector_reader(commands.CopyTextFrom),
    "setClipboard": text_reader(commands.SetClipboard),
    "pasteText": bare_reader(commands.PasteText()),
    "pressKey": _read_press_key,
    "action": _read_action,
    "back": bare_reader(commands.Back()),
    "hideKeyboard": bare_reader(commands.HideKeyboard()),
    "assertVisible": _selector_reader(commands.AssertVisible),
    "assertNotVisible": _selector_reader(commands.AssertNotVisible),
    "assertTrue": _read_assert_true,
    "extendedWaitUntil": _read_extended_wait_until,
    "waitForAnimationToEnd": _read_wait_for_animation_to_end,
    **CAPTURE_READERS,
}
