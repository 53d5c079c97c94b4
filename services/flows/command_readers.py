"""Readers of the commands that hold no other steps: for apps, the device, text, assertions and waits."""

from collections.abc import Callable, Mapping

from services.flows import command_types
from services.flows.argument_readers import (
    COMMON_FIELDS,
    VALUE_LIMIT,
    read_app_id,
    read_element,
    read_milliseconds,
    read_selector,
)
from services.flows.command_types import BaseCommand
from services.flows.gestures import SCROLL_READERS, TAP_READERS, Reader
from services.flows.nodes import Node, read_optional

WAIT_LIMIT_SECONDS = 1_800
PERMISSIONS_LIMIT = 50
ARGUMENTS_LIMIT = 100
LINK_LIMIT = 2_000
KEYS = (
    *("enter", "backspace", "delete", "tab", "space", "escape", "search"),
    *("back", "home", "lock", "power", "volume up", "volume down"),
)


def _read_launch_app(node: Node) -> BaseCommand:
    if node.is_null:
        return command_types.LaunchApp()
    if not node.is_mapping:
        return command_types.LaunchApp(read_app_id(node))
    known = ("appId", "clearState", "clearKeychain", "stopApp", "permissions", "arguments", *COMMON_FIELDS)
    entries = node.fields(known)
    stop_app = read_optional(entries, "stopApp", Node.boolean)
    return command_types.LaunchApp(
        app_id=read_optional(entries, "appId", read_app_id),
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


def _read_arguments(node: Node) -> tuple[tuple[str, command_types.Argument], ...]:
    entries = node.mapping()
    if len(entries) > ARGUMENTS_LIMIT:
        raise node.error(f"more than {ARGUMENTS_LIMIT} arguments")
    return tuple((name, _read_argument(value)) for name, value in entries.items())


def _read_argument(node: Node) -> command_types.Argument:
    return node.value if isinstance(node.value, bool | int | float) else node.string(limit=VALUE_LIMIT)


def _app_reader(command: Callable[[str | None], BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        if node.is_null:
            return command(None)
        if not node.is_mapping:
            return command(read_app_id(node))
        return command(read_optional(node.fields(("appId", *COMMON_FIELDS)), "appId", read_app_id))

    return read


def _single_argument(node: Node, field: str, *also: str) -> Node:
    """The only argument of a command: directly after its name, or as a field of this name."""
    return node.fields((field, *also, *COMMON_FIELDS), required=(field,))[field] if node.is_mapping else node


def _read_input_text(node: Node) -> BaseCommand:
    return command_types.InputText(_single_argument(node, "text").string(limit=VALUE_LIMIT))


def _read_set_clipboard(node: Node) -> BaseCommand:
    return command_types.SetClipboard(_single_argument(node, "text").string(limit=VALUE_LIMIT))


def _read_erase_text(node: Node) -> BaseCommand:
    if node.is_null or (
        node.is_mapping and "charactersToErase" not in node.fields(("charactersToErase", *COMMON_FIELDS))
    ):
        return command_types.EraseText()
    return command_types.EraseText(_single_argument(node, "charactersToErase").integer(1, 10_000))


def _read_press_key(node: Node) -> BaseCommand:
    return command_types.PressKey(_single_argument(node, "key").choice(KEYS))


def _bare_reader(command: BaseCommand) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_null:
            node.fields(COMMON_FIELDS)
        return command

    return read


def _read_assert_true(node: Node) -> BaseCommand:
    argument = _single_argument(node, "condition")
    return command_types.AssertTrue(argument.string(limit=VALUE_LIMIT), argument.template)


def _read_extended_wait_until(node: Node) -> BaseCommand:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON_FIELDS))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.error("extendedWaitUntil needs visible or notVisible")
    return command_types.ExtendedWaitUntil(
        visible=read_optional(entries, "visible", read_element),
        not_visible=read_optional(entries, "notVisible", read_element),
        timeout_seconds=read_optional(entries, "timeout", lambda value: read_milliseconds(value, WAIT_LIMIT_SECONDS)),
    )


def _read_wait_for_animation_to_end(node: Node) -> BaseCommand:
    entries = {} if node.is_null else node.fields(("timeout", *COMMON_FIELDS))
    if "timeout" not in entries:
        return command_types.WaitForAnimationToEnd()
    return command_types.WaitForAnimationToEnd(read_milliseconds(entries["timeout"], WAIT_LIMIT_SECONDS))


def _read_take_screenshot(node: Node) -> BaseCommand:
    if node.is_null or (node.is_mapping and "path" not in node.fields(("path", *COMMON_FIELDS))):
        return command_types.TakeScreenshot()
    return command_types.TakeScreenshot(_single_argument(node, "path").string(limit=200))


def _read_open_link(node: Node) -> BaseCommand:
    entries = node.mapping() if node.is_mapping else {}
    for name in ("autoVerify", "browser"):
        if read_optional(entries, name, Node.boolean):
            raise entries[name].error_at_key(f"{name} is not supported: a link opens in the app that handles it")
    link = _single_argument(node, "link", "autoVerify", "browser")
    if not link.string(limit=LINK_LIMIT).strip():
        raise link.error("the link is empty")
    return command_types.OpenLink(link.raw.strip())


def _read_set_location(node: Node) -> BaseCommand:
    entries = node.fields(("latitude", "longitude", *COMMON_FIELDS), required=("latitude", "longitude"))
    return command_types.SetLocation(entries["latitude"].number(-90, 90), entries["longitude"].number(-180, 180))


def _read_set_orientation(node: Node) -> BaseCommand:
    argument = _single_argument(node, "orientation")
    word = argument.choice(("portrait", "landscape", "landscape_left", "landscape_right"))
    return command_types.SetOrientation("portrait" if word == "portrait" else "landscape")


def _selector_reader(command: Callable[..., BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        return command(read_selector(node, also=COMMON_FIELDS))

    return read


COMMAND_READERS: Mapping[str, Reader] = {
    **TAP_READERS,
    **SCROLL_READERS,
    "launchApp": _read_launch_app,
    "stopApp": _app_reader(command_types.StopApp),
    "clearState": _app_reader(command_types.ClearState),
    "inputText": _read_input_text,
    "eraseText": _read_erase_text,
    "copyTextFrom": _selector_reader(command_types.CopyTextFrom),
    "setClipboard": _read_set_clipboard,
    "pasteText": _bare_reader(command_types.PasteText()),
    "pressKey": _read_press_key,
    "back": _bare_reader(command_types.Back()),
    "hideKeyboard": _bare_reader(command_types.HideKeyboard()),
    "assertVisible": _selector_reader(command_types.AssertVisible),
    "assertNotVisible": _selector_reader(command_types.AssertNotVisible),
    "assertTrue": _read_assert_true,
    "extendedWaitUntil": _read_extended_wait_until,
    "waitForAnimationToEnd": _read_wait_for_animation_to_end,
    "takeScreenshot": _read_take_screenshot,
    "openLink": _read_open_link,
    "setLocation": _read_set_location,
    "setOrientation": _read_set_orientation,
}
