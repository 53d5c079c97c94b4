"""Readers of the commands that act on apps and on the device itself."""

import re
from collections.abc import Callable, Mapping
from typing import cast, get_args

from mobiletest_automation.flows import device_commands as commands
from mobiletest_automation.flows.arguments import (
    WAIT_LIMIT_SECONDS,
    Reader,
    bare_reader,
    optional_argument,
    single_argument,
)
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.nodes import Node, quote, read_optional
from mobiletest_automation.flows.selectors import COMMON_FIELDS, VALUE_LIMIT

PERMISSIONS_LIMIT = 50
ARGUMENTS_LIMIT = 100
LINK_LIMIT = 2_000
POINTS_LIMIT = 100
MEDIA_LIMIT = 20
MEDIA_ENDINGS = (".png", ".jpeg", ".jpg", ".gif", ".mp4")

PERMISSIONS = get_args(commands.Permission)

_APP_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_WEB_ADDRESS = re.compile(r"https?://[!-~]+", re.IGNORECASE | re.ASCII)
_GEO_POINT = re.compile(r"\s*(-?\d{1,3}(?:\.\d{1,15})?)\s*,\s*(-?\d{1,3}(?:\.\d{1,15})?)\s*", re.ASCII)
_APP_FIELDS = ("appId", "url")
# By their names without underscores.
_ORIENTATIONS: Mapping[str, commands.Orientation] = {
    "portrait": "portrait",
    "landscape": "landscape_left",
    "landscapeleft": "landscape_left",
    "landscaperight": "landscape_right",
    "upsidedown": "upside_down",
}


def _read_launch_app(node: Node) -> BaseCommand:
    if node.is_null:
        return commands.LaunchApp()
    if not node.is_mapping:
        return commands.LaunchApp(_read_app_id(node))
    known = (*_APP_FIELDS, "clearState", "clearKeychain", "stopApp", "permissions", "arguments", *COMMON_FIELDS)
    entries = node.fields(known)
    stop_app = read_optional(entries, "stopApp", Node.boolean)
    return commands.LaunchApp(
        app_id=_read_named_app(entries),
        clear_state=read_optional(entries, "clearState", Node.boolean) or False,
        stop_app=stop_app is not False,
        permissions=read_optional(entries, "permissions", _read_permissions),
        arguments=read_optional(entries, "arguments", _read_arguments) or (),
        clear_keychain=read_optional(entries, "clearKeychain", Node.boolean) or False,
    )


def _read_permissions(node: Node) -> tuple[tuple[str, commands.Permission], ...]:
    entries = node.mapping()
    if len(entries) > PERMISSIONS_LIMIT:
        raise node.error(f"more than {PERMISSIONS_LIMIT} permissions")
    return tuple((name, cast("commands.Permission", value.choice(PERMISSIONS))) for name, value in entries.items())


def _read_set_permissions(node: Node) -> BaseCommand:
    entries = node.fields((*_APP_FIELDS, "permissions", *COMMON_FIELDS), required=("permissions",))
    return commands.SetPermissions(_read_named_app(entries), _read_permissions(entries["permissions"]))


def _read_named_app(entries: Mapping[str, Node]) -> str | None:
    """The app of appId, or of url, which is another word for it."""
    if "appId" in entries and "url" in entries:
        raise entries["url"].error_at_key("url is another name for appId: give one of them")
    return read_optional(entries, "url" if "url" in entries else "appId", _read_app_id)


def _read_arguments(node: Node) -> tuple[tuple[str, commands.Argument], ...]:
    entries = node.mapping()
    if len(entries) > ARGUMENTS_LIMIT:
        raise node.error(f"more than {ARGUMENTS_LIMIT} arguments")
    return tuple((name, _read_argument(value)) for name, value in entries.items())


def _read_argument(node: Node) -> commands.Argument:
    value = node.typed
    return value if isinstance(value, bool | int | float) else node.string(limit=VALUE_LIMIT)


def _app_reader(command: Callable[[str | None], BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        argument = optional_argument(node, "appId")
        return command(_read_app_id(argument) if argument is not None else None)

    return read


def _read_open_link(node: Node) -> BaseCommand:
    entries = node.mapping() if node.is_mapping else {}
    link = single_argument(node, "link", "autoVerify", "browser")
    if not link.string(limit=LINK_LIMIT).strip():
        raise link.error("the link is empty")
    return commands.OpenLink(
        link.raw.strip(),
        in_browser=read_optional(entries, "browser", Node.boolean) or False,
        in_own_app=read_optional(entries, "autoVerify", Node.boolean) or False,
    )


def _read_set_location(node: Node) -> BaseCommand:
    entries = node.fields(("latitude", "longitude", *COMMON_FIELDS), required=("latitude", "longitude"))
    return commands.SetLocation(entries["latitude"].number(-90, 90), entries["longitude"].number(-180, 180))


def _read_set_orientation(node: Node) -> BaseCommand:
    argument = single_argument(node, "orientation")
    word = argument.string().replace("_", "").strip().lower()
    if argument.pending:
        return commands.SetOrientation("portrait")
    if word not in _ORIENTATIONS:
        known = ", ".join(dict.fromkeys(_ORIENTATIONS.values()))
        raise argument.error(f"expected one of {known}, not {quote(argument.raw)}")
    return commands.SetOrientation(_ORIENTATIONS[word])


def _mode_setter(mode: commands.Mode) -> Reader:
    """Reads enabled or disabled, as the argument or as its `value`."""
    return lambda node: commands.SetMode(
        mode, single_argument(node, "value").choice(("enabled", "disabled")) == "enabled"
    )


def _read_travel(node: Node) -> BaseCommand:
    entries = node.fields(("points", "speed", *COMMON_FIELDS), required=("points",))
    points = entries["points"]
    if not 0 < len(points.items()) <= POINTS_LIMIT:
        raise points.error(f"expected 1 to {POINTS_LIMIT} points")
    speed = read_optional(entries, "speed", lambda value: 4.0 if value.pending else value.number(0.01, 100_000))
    travel = commands.Travel(tuple(_read_geo_point(item) for item in points.items()), speed or 4.0)
    pending = any(node.pending for node in (*points.items(), *entries.values()))
    if travel.declared_seconds > WAIT_LIMIT_SECONDS and not pending:
        seconds = f"{travel.declared_seconds:.0f} s"
        raise points.error(
            f"this takes {seconds}, more than {WAIT_LIMIT_SECONDS} s: use a higher speed or fewer points"
        )
    return travel


def _read_geo_point(node: Node) -> commands.GeoPoint:
    if node.pending:
        return commands.GeoPoint(0, 0)
    match = _GEO_POINT.fullmatch(node.string(limit=100))
    if match is None or abs(float(match[1])) > 90 or abs(float(match[2])) > 180:
        raise node.error('expected a latitude and a longitude in degrees, such as "52.36, 4.88"')
    return commands.GeoPoint(float(match[1]), float(match[2]))


def _read_add_media(node: Node) -> BaseCommand:
    files = single_argument(node, "files")
    for item in files.items():
        if not item.pending and not item.string().lower().endswith(MEDIA_ENDINGS):
            raise item.error(f"expected a file that ends in {', '.join(MEDIA_ENDINGS)}, not {quote(item.raw)}")
    if not files.items():
        raise files.error("there are no files")
    return commands.AddMedia(files.texts(limit=MEDIA_LIMIT, each=500))


def _read_open_browser(node: Node) -> BaseCommand:
    link = single_argument(node, "link")
    text = link.string(limit=LINK_LIMIT).strip()
    if not link.pending and not _WEB_ADDRESS.fullmatch(text):
        raise link.error('expected the address of a web page, such as "https://example.com"')
    return commands.OpenBrowser(text)


def _read_app_id(node: Node) -> str:
    """The id of an app: its package name or bundle id, or the address of a web page."""
    text = node.string(limit=500).strip()
    if not node.pending and not _APP_ID.fullmatch(text) and not _WEB_ADDRESS.fullmatch(text):
        raise node.error('expected the id of an app, such as "com.example.shop"')
    return text


# The commands of apps and of the device, by their names in Maestro.
DEVICE_COMMAND_READERS: Mapping[str, Reader] = {
    "launchApp": _read_launch_app,
    "stopApp": _app_reader(commands.StopApp),
    "killApp": _app_reader(commands.KillApp),
    "clearState": _app_reader(commands.ClearState),
    "clearKeychain": bare_reader(commands.ClearKeychain()),
    "setPermissions": _read_set_permissions,
    "openLink": _read_open_link,
    "openBrowser": _read_open_browser,
    "setLocation": _read_set_location,
    "travel": _read_travel,
    "addMedia": _read_add_media,
    "setAirplaneMode": _mode_setter(commands.Mode.AIRPLANE),
    "toggleAirplaneMode": bare_reader(commands.SetMode(commands.Mode.AIRPLANE)),
    "setDarkMode": _mode_setter(commands.Mode.DARK),
    "toggleDarkMode": bare_reader(commands.SetMode(commands.Mode.DARK)),
    "assertDarkMode": bare_reader(commands.AssertMode(commands.Mode.DARK, on=True)),
    "assertLightMode": bare_reader(commands.AssertMode(commands.Mode.DARK, on=False)),
    "setOrientation": _read_set_orientation,
}
