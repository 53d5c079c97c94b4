"""Readers of the commands that hold no other steps."""

import re
from collections.abc import Callable, Mapping

from services.flows import commands
from services.flows.commands import BaseCommand
from services.flows.nodes import Node, read_optional
from services.flows.selectors import (
    COMMON_FIELDS,
    CRITERIA,
    VALUE_LIMIT,
    Selector,
    read_direction,
    read_element,
    read_position,
    read_selector,
)

Reader = Callable[[Node], BaseCommand]
"""Reads the arguments of a command. Raise DocumentError."""

WAIT_LIMIT_SECONDS = 1_800
PERMISSIONS_LIMIT = 50
ARGUMENTS_LIMIT = 100
LINK_LIMIT = 2_000
KEYS = (
    *("enter", "backspace", "delete", "tab", "space", "escape", "search"),
    *("back", "home", "lock", "power", "volume up", "volume down"),
)
SETTLE_LIMIT_SECONDS = 60
SCROLL_LIMIT_SECONDS = 600
TIMES_LIMIT = 100

_APP_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_TAP_FIELDS = ("point", "retryTapIfNoChange", "waitToSettleTimeoutMs", "repeat", "delay")


def _read_launch_app(node: Node) -> BaseCommand:
    if node.is_null:
        return commands.LaunchApp()
    if not node.is_mapping:
        return commands.LaunchApp(_read_app_id(node))
    known = ("appId", "clearState", "clearKeychain", "stopApp", "permissions", "arguments", *COMMON_FIELDS)
    entries = node.fields(known)
    stop_app = read_optional(entries, "stopApp", Node.boolean)
    return commands.LaunchApp(
        app_id=read_optional(entries, "appId", _read_app_id),
        clear_state=read_optional(entries, "clearState", Node.boolean) or False,
        stop_app=stop_app is not False,
        permissions=read_optional(entries, "permissions", _read_permissions) or (),
        arguments=read_optional(entries, "arguments", _read_arguments) or (),
        clear_keychain=read_optional(entries, "clearKeychain", Node.boolean) or False,
    )


def _read_permissions(node: Node) -> tuple[tuple[str, str], ...]:
    entries = node.mapping()
    if len(entries) > PERMISSIONS_LIMIT:
        raise node.error(f"more than {PERMISSIONS_LIMIT} permissions")
    return tuple((name, value.choice(("allow", "deny", "unset"))) for name, value in entries.items())


def _read_arguments(node: Node) -> tuple[tuple[str, commands.Argument], ...]:
    entries = node.mapping()
    if len(entries) > ARGUMENTS_LIMIT:
        raise node.error(f"more than {ARGUMENTS_LIMIT} arguments")
    return tuple((name, _read_argument(value)) for name, value in entries.items())


def _read_argument(node: Node) -> commands.Argument:
    return node.value if isinstance(node.value, bool | int | float) else node.string(limit=VALUE_LIMIT)


def _app_reader(command: Callable[[str | None], BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        argument = _optional_argument(node, "appId")
        return command(_read_app_id(argument) if argument is not None else None)

    return read


def _single_argument(node: Node, field: str, *also: str) -> Node:
    """The only argument of a command: directly after its name, or as a field of this name."""
    return node.fields((field, *also, *COMMON_FIELDS), required=(field,))[field] if node.is_mapping else node


def _optional_argument(node: Node, field: str) -> Node | None:
    """As `_single_argument`; None if it is not given."""
    if node.is_null:
        return None
    return node.fields((field, *COMMON_FIELDS)).get(field) if node.is_mapping else node


def _text_reader(command: Callable[[str], BaseCommand]) -> Reader:
    return lambda node: command(_single_argument(node, "text").string(limit=VALUE_LIMIT))


def _read_erase_text(node: Node) -> BaseCommand:
    argument = _optional_argument(node, "charactersToErase")
    return commands.EraseText() if argument is None else commands.EraseText(argument.integer(1, 10_000))


def _read_press_key(node: Node) -> BaseCommand:
    return commands.PressKey(_single_argument(node, "key").choice(KEYS))


def _bare_reader(command: BaseCommand) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_null:
            node.fields(COMMON_FIELDS)
        return command

    return read


def _read_assert_true(node: Node) -> BaseCommand:
    argument = _single_argument(node, "condition")
    return commands.AssertTrue(argument.string(limit=VALUE_LIMIT), argument.template)


def _read_extended_wait_until(node: Node) -> BaseCommand:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON_FIELDS))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.error("extendedWaitUntil needs visible or notVisible")
    return commands.ExtendedWaitUntil(
        visible=read_optional(entries, "visible", read_element),
        not_visible=read_optional(entries, "notVisible", read_element),
        timeout_seconds=read_optional(entries, "timeout", _milliseconds(WAIT_LIMIT_SECONDS)),
    )


def _read_wait_for_animation_to_end(node: Node) -> BaseCommand:
    entries = {} if node.is_null else node.fields(("timeout", *COMMON_FIELDS))
    seconds = read_optional(entries, "timeout", _milliseconds(WAIT_LIMIT_SECONDS))
    return commands.WaitForAnimationToEnd() if seconds is None else commands.WaitForAnimationToEnd(seconds)


def _read_take_screenshot(node: Node) -> BaseCommand:
    argument = _optional_argument(node, "path")
    return commands.TakeScreenshot(None if argument is None else argument.string(limit=200))


def _read_open_link(node: Node) -> BaseCommand:
    entries = node.mapping() if node.is_mapping else {}
    for name in ("autoVerify", "browser"):
        if read_optional(entries, name, Node.boolean):
            raise entries[name].error_at_key(f"{name} is not supported: a link opens in the app that handles it")
    link = _single_argument(node, "link", "autoVerify", "browser")
    if not link.string(limit=LINK_LIMIT).strip():
        raise link.error("the link is empty")
    return commands.OpenLink(link.raw.strip())


def _read_set_location(node: Node) -> BaseCommand:
    entries = node.fields(("latitude", "longitude", *COMMON_FIELDS), required=("latitude", "longitude"))
    return commands.SetLocation(entries["latitude"].number(-90, 90), entries["longitude"].number(-180, 180))


def _read_set_orientation(node: Node) -> BaseCommand:
    argument = _single_argument(node, "orientation")
    word = argument.choice(("portrait", "landscape", "landscape_left", "landscape_right"))
    return commands.SetOrientation("portrait" if word == "portrait" else "landscape")


def _selector_reader(command: Callable[[Selector], BaseCommand]) -> Reader:
    return lambda node: command(read_element(node))


def _tap_reader(command: Callable[..., BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_mapping:
            return command(read_selector(node))
        chosen = read_selector(node, also=(*_TAP_FIELDS, *COMMON_FIELDS), required="point" not in node.mapping())
        entries = node.mapping()
        pause = read_optional(entries, "delay", _milliseconds(SETTLE_LIMIT_SECONDS))
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
    return read_optional(entries, "waitToSettleTimeoutMs", _milliseconds(SETTLE_LIMIT_SECONDS)) or 0.0


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
        return commands.Swipe(start=start, end=end, seconds=seconds, settle_seconds=settle)
    if "direction" not in entries:
        raise node.error("swipe needs a direction (up, down, left, right), or start and end")
    source = read_optional(entries, "from", read_element)
    towards = read_direction(entries["direction"])
    return commands.Swipe(direction=towards, source=source, seconds=seconds, settle_seconds=settle)


def _read_scroll_until_visible(node: Node) -> BaseCommand:
    options = ("direction", "timeout", "speed", "visibilityPercentage", "centerElement", "waitToSettleTimeoutMs")
    entries = node.fields(("element", *options, *COMMON_FIELDS), required=("element",))
    speed = read_optional(entries, "speed", lambda value: value.number(0, 100))
    share = read_optional(entries, "visibilityPercentage", lambda value: value.number(0, 100))
    timeout = read_optional(entries, "timeout", _milliseconds(SCROLL_LIMIT_SECONDS))
    return commands.ScrollUntilVisible(
        selector=read_element(entries["element"]),
        direction=read_optional(entries, "direction", read_direction) or "down",
        timeout_seconds=20.0 if timeout is None else timeout,
        seconds=(100 - (40 if speed is None else speed)) / 100 + 0.001,
        share=1.0 if share is None else share / 100,
        centered=read_optional(entries, "centerElement", Node.boolean) or False,
        settle_seconds=_read_settle_seconds(entries),
    )


def _read_app_id(node: Node) -> str:
    """The id of an app: its package name or bundle id."""
    text = node.string(limit=500).strip()
    if not node.pending and not _APP_ID.fullmatch(text):
        raise node.error('expected the id of an app, such as "com.example.shop"')
    return text


def _milliseconds(limit_seconds: float) -> Callable[[Node], float]:
    """Reads a duration in milliseconds, as seconds."""
    return lambda node: node.number(0, limit_seconds * 1000) / 1000


COMMAND_READERS: Mapping[str, Reader] = {
    "tapOn": _tap_reader(commands.TapOn),
    "doubleTapOn": _tap_reader(commands.DoubleTapOn),
    "longPressOn": _tap_reader(commands.LongPressOn),
    "swipe": _read_swipe,
    "scroll": _bare_reader(commands.Scroll()),
    "scrollUntilVisible": _read_scroll_until_visible,
    "launchApp": _read_launch_app,
    "stopApp": _app_reader(commands.StopApp),
    "clearState": _app_reader(commands.ClearState),
    "inputText": _text_reader(commands.InputText),
    "eraseText": _read_erase_text,
    "copyTextFrom": _selector_reader(commands.CopyTextFrom),
    "setClipboard": _text_reader(commands.SetClipboard),
    "pasteText": _bare_reader(commands.PasteText()),
    "pressKey": _read_press_key,
    "back": _bare_reader(commands.Back()),
    "hideKeyboard": _bare_reader(commands.HideKeyboard()),
    "assertVisible": _selector_reader(commands.AssertVisible),
    "assertNotVisible": _selector_reader(commands.AssertNotVisible),
    "assertTrue": _read_assert_true,
    "extendedWaitUntil": _read_extended_wait_until,
    "waitForAnimationToEnd": _read_wait_for_animation_to_end,
    "takeScreenshot": _read_take_screenshot,
    "openLink": _read_open_link,
    "setLocation": _read_set_location,
    "setOrientation": _read_set_orientation,
}
