"""Reads the commands that hold no other steps."""

from collections.abc import Callable, Mapping

from services.flows.commands import (
    AssertNotVisible,
    AssertVisible,
    Back,
    Command,
    EraseText,
    ExtendedWaitUntil,
    InputText,
    LaunchApp,
    Scroll,
    StopApp,
    Swipe,
    TakeScreenshot,
    TapOn,
)
from services.flows.nodes import Node, given
from services.flows.reading import app_id, direction, position, selector, without_variables

WAIT_LIMIT_SECONDS = 1_800
COMMON = ("label", "optional")
"""What may be said of every command."""

Reader = Callable[[Node], Command]


def _launch_app(node: Node) -> Command:
    if node.is_null:
        return LaunchApp()
    if not node.is_mapping:
        return LaunchApp(app_id(node))
    entries = node.fields(("appId", "clearState", "stopApp", *COMMON))
    stop_app = given(entries, "stopApp", Node.boolean)
    return LaunchApp(
        app_id=given(entries, "appId", app_id),
        clear_state=given(entries, "clearState", Node.boolean) or False,
        stop_app=stop_app is not False,
    )


def _stop_app(node: Node) -> Command:
    if node.is_null:
        return StopApp()
    if not node.is_mapping:
        return StopApp(app_id(node))
    return StopApp(given(node.fields(("appId", *COMMON)), "appId", app_id))


def _input_text(node: Node) -> Command:
    written = node.fields(("text", *COMMON), required=("text",))["text"] if node.is_mapping else node
    return InputText(without_variables(written))


def _erase_text(node: Node) -> Command:
    if node.is_null:
        return EraseText()
    if not node.is_mapping:
        return EraseText(node.integer(1, 10_000))
    entries = node.fields(("charactersToErase", *COMMON))
    return EraseText(entries["charactersToErase"].integer(1, 10_000)) if "charactersToErase" in entries else EraseText()


def _bare(command: Command) -> Reader:
    def read(node: Node) -> Command:
        if not node.is_null:
            node.fields(COMMON)
        return command

    return read


def _swipe(node: Node) -> Command:
    entries = node.fields(("direction", "start", "end", "from", "duration", *COMMON))
    seconds = entries["duration"].number(1, 60_000) / 1000 if "duration" in entries else 0.4
    if "start" in entries or "end" in entries:
        if "direction" in entries or "from" in entries:
            raise node.fault("swipe has either start and end, or direction with an optional from")
        both = node.fields(("start", "end", "duration", *COMMON), required=("start", "end"))
        return Swipe(start=position(both["start"]), end=position(both["end"]), seconds=seconds)
    if "direction" not in entries:
        raise node.fault("swipe needs a direction (up, down, left, right), or start and end")
    source = given(entries, "from", selector)
    return Swipe(direction=direction(entries["direction"]), source=source, seconds=seconds)


def _extended_wait_until(node: Node) -> Command:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.fault("extendedWaitUntil needs visible or notVisible")
    return ExtendedWaitUntil(
        visible=given(entries, "visible", selector),
        not_visible=given(entries, "notVisible", selector),
        timeout_seconds=given(entries, "timeout", lambda found: found.number(0, WAIT_LIMIT_SECONDS * 1000) / 1000),
    )


def _take_screenshot(node: Node) -> Command:
    if node.is_null:
        return TakeScreenshot()
    if not node.is_mapping:
        return TakeScreenshot(node.string(limit=200))
    return TakeScreenshot(given(node.fields(("path", *COMMON)), "path", lambda found: found.string(limit=200)))


def _selecting(command: Callable[..., Command]) -> Reader:
    def read(node: Node) -> Command:
        return command(selector(node, also=COMMON))

    return read


LEAVES: Mapping[str, Reader] = {
    "launchApp": _launch_app,
    "stopApp": _stop_app,
    "tapOn": _selecting(TapOn),
    "inputText": _input_text,
    "eraseText": _erase_text,
    "back": _bare(Back()),
    "swipe": _swipe,
    "scroll": _bare(Scroll()),
    "assertVisible": _selecting(AssertVisible),
    "assertNotVisible": _selecting(AssertNotVisible),
    "extendedWaitUntil": _extended_wait_until,
    "takeScreenshot": _take_screenshot,
}
