"""Reads the commands that hold no other steps: those for the app, the device, keys and texts, checks and waits."""

from collections.abc import Callable, Mapping

from services.flows import actions
from services.flows.commands import Command
from services.flows.nodes import Node, given
from services.flows.reading import (
    COMMON,
    VALUE_LIMIT,
    app_id,
    element,
    milliseconds,
    selector,
)
from services.flows.touches import MOVING, TOUCHING, Reader

WAIT_LIMIT_SECONDS = 1_800
PERMISSIONS_LIMIT = 50
ARGUMENTS_LIMIT = 100
LINK_LIMIT = 2_000
KEYS = (
    *("enter", "backspace", "delete", "tab", "space", "escape", "search"),
    *("back", "home", "lock", "power", "volume up", "volume down"),
)


def _launch_app(node: Node) -> Command:
    if node.is_null:
        return actions.LaunchApp()
    if not node.is_mapping:
        return actions.LaunchApp(app_id(node))
    known = ("appId", "clearState", "clearKeychain", "stopApp", "permissions", "arguments", *COMMON)
    entries = node.fields(known)
    stop_app = given(entries, "stopApp", Node.boolean)
    return actions.LaunchApp(
        app_id=given(entries, "appId", app_id),
        clear_state=given(entries, "clearState", Node.boolean) or False,
        stop_app=stop_app is not False,
        permissions=given(entries, "permissions", _permissions) or (),
        arguments=given(entries, "arguments", _arguments) or (),
        clear_keychain=given(entries, "clearKeychain", Node.boolean) or False,
    )


def _permissions(node: Node) -> tuple[tuple[str, str], ...]:
    entries = node.mapping()
    if len(entries) > PERMISSIONS_LIMIT:
        raise node.fault(f"more than {PERMISSIONS_LIMIT} permissions")
    return tuple((name, value.choice(("allow", "deny", "unset"))) for name, value in entries.items())


def _arguments(node: Node) -> tuple[tuple[str, actions.Argument], ...]:
    entries = node.mapping()
    if len(entries) > ARGUMENTS_LIMIT:
        raise node.fault(f"more than {ARGUMENTS_LIMIT} arguments")
    return tuple((name, _argument(value)) for name, value in entries.items())


def _argument(node: Node) -> actions.Argument:
    return node.value if isinstance(node.value, bool | int | float) else node.string(limit=VALUE_LIMIT)


def _of_app(command: Callable[[str | None], Command]) -> Reader:
    def read(node: Node) -> Command:
        if node.is_null:
            return command(None)
        if not node.is_mapping:
            return command(app_id(node))
        return command(given(node.fields(("appId", *COMMON)), "appId", app_id))

    return read


def _said(node: Node, field: str, *also: str) -> Node:
    """The one argument of a command: what stands behind its name, or the field of this name."""
    return node.fields((field, *also, *COMMON), required=(field,))[field] if node.is_mapping else node


def _input_text(node: Node) -> Command:
    return actions.InputText(_said(node, "text").string(limit=VALUE_LIMIT))


def _set_clipboard(node: Node) -> Command:
    return actions.SetClipboard(_said(node, "text").string(limit=VALUE_LIMIT))


def _erase_text(node: Node) -> Command:
    if node.is_null or (node.is_mapping and "charactersToErase" not in node.fields(("charactersToErase", *COMMON))):
        return actions.EraseText()
    return actions.EraseText(_said(node, "charactersToErase").integer(1, 10_000))


def _press_key(node: Node) -> Command:
    return actions.PressKey(_said(node, "key").choice(KEYS))


def _bare(command: Command) -> Reader:
    def read(node: Node) -> Command:
        if not node.is_null:
            node.fields(COMMON)
        return command

    return read


def _assert_true(node: Node) -> Command:
    said = _said(node, "condition")
    return actions.AssertTrue(said.string(limit=VALUE_LIMIT), said.template)


def _extended_wait_until(node: Node) -> Command:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.fault("extendedWaitUntil needs visible or notVisible")
    return actions.ExtendedWaitUntil(
        visible=given(entries, "visible", element),
        not_visible=given(entries, "notVisible", element),
        timeout_seconds=given(entries, "timeout", lambda found: milliseconds(found, WAIT_LIMIT_SECONDS)),
    )


def _wait_for_animation_to_end(node: Node) -> Command:
    entries = {} if node.is_null else node.fields(("timeout", *COMMON))
    if "timeout" not in entries:
        return actions.WaitForAnimationToEnd()
    return actions.WaitForAnimationToEnd(milliseconds(entries["timeout"], WAIT_LIMIT_SECONDS))


def _take_screenshot(node: Node) -> Command:
    if node.is_null or (node.is_mapping and "path" not in node.fields(("path", *COMMON))):
        return actions.TakeScreenshot()
    return actions.TakeScreenshot(_said(node, "path").string(limit=200))


def _open_link(node: Node) -> Command:
    entries = node.mapping() if node.is_mapping else {}
    for name in ("autoVerify", "browser"):
        if given(entries, name, Node.boolean):
            raise entries[name].fault_of_name(f"{name} is not supported: a link opens in the app that it is meant for")
    link = _said(node, "link", "autoVerify", "browser")
    if not link.string(limit=LINK_LIMIT).strip():
        raise link.fault("the link is empty")
    return actions.OpenLink(link.written.strip())


def _set_location(node: Node) -> Command:
    entries = node.fields(("latitude", "longitude", *COMMON), required=("latitude", "longitude"))
    return actions.SetLocation(entries["latitude"].number(-90, 90), entries["longitude"].number(-180, 180))


def _set_orientation(node: Node) -> Command:
    said = _said(node, "orientation")
    word = said.choice(("portrait", "landscape", "landscape_left", "landscape_right"))
    return actions.SetOrientation("portrait" if word == "portrait" else "landscape")


def _selecting(command: Callable[..., Command]) -> Reader:
    def read(node: Node) -> Command:
        return command(selector(node, also=COMMON))

    return read


LEAVES: Mapping[str, Reader] = {
    **TOUCHING,
    **MOVING,
    "launchApp": _launch_app,
    "stopApp": _of_app(actions.StopApp),
    "clearState": _of_app(actions.ClearState),
    "inputText": _input_text,
    "eraseText": _erase_text,
    "copyTextFrom": _selecting(actions.CopyTextFrom),
    "setClipboard": _set_clipboard,
    "pasteText": _bare(actions.PasteText()),
    "pressKey": _press_key,
    "back": _bare(actions.Back()),
    "hideKeyboard": _bare(actions.HideKeyboard()),
    "assertVisible": _selecting(actions.AssertVisible),
    "assertNotVisible": _selecting(actions.AssertNotVisible),
    "assertTrue": _assert_true,
    "extendedWaitUntil": _extended_wait_until,
    "waitForAnimationToEnd": _wait_for_animation_to_end,
    "takeScreenshot": _take_screenshot,
    "openLink": _open_link,
    "setLocation": _set_location,
    "setOrientation": _set_orientation,
}
