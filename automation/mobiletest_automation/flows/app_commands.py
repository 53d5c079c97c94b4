"""Commands that start, stop and set up apps, and open links."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from mobiletest_automation.flows.commands import (
    BaseCommand,
    CommandSpec,
    Reader,
    bare_reader,
    optional_argument,
    single_argument,
)
from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.selectors import COMMON_FIELDS, VALUE_LIMIT

Argument: TypeAlias = str | int | float | bool
Permission: TypeAlias = Literal["allow", "deny", "unset", "always", "inuse", "never", "limited"]

PERMISSIONS_LIMIT = 50
ARGUMENTS_LIMIT = 100
LINK_LIMIT = 2_000
_APP_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_WEB_ADDRESS = re.compile(r"https?://[!-~]+", re.IGNORECASE | re.ASCII)
_APP_FIELDS = ("appId", "url")


@dataclass(frozen=True, slots=True)
class _AppCommand(BaseCommand):
    app_id: str | None = None

    @property
    def subject(self) -> str:
        return self.app_id or ""


@dataclass(frozen=True, slots=True)
class LaunchApp(_AppCommand):
    """Start the app under test, or `app_id`; a running one is stopped first unless `stop_app` is false.

    Without `permissions` (None) all are granted; with them, those that are not named stay as they are.
    """

    clear_state: bool = False
    stop_app: bool = True
    permissions: tuple[tuple[str, Permission], ...] | None = None
    arguments: tuple[tuple[str, Argument], ...] = ()
    clear_keychain: bool = False


def _read_launch_app(node: Node) -> BaseCommand:
    if node.is_null:
        return LaunchApp()
    if not node.is_mapping:
        return LaunchApp(_read_app_id(node))
    fields = (*_APP_FIELDS, "clearState", "clearKeychain", "stopApp", "permissions", "arguments", *COMMON_FIELDS)
    entries = node.fields(fields)
    stop_app = read_optional(entries, "stopApp", Node.boolean)
    return LaunchApp(
        app_id=_read_named_app(entries),
        clear_state=read_optional(entries, "clearState", Node.boolean) or False,
        stop_app=stop_app is not False,
        permissions=read_optional(entries, "permissions", _read_permissions),
        arguments=read_optional(entries, "arguments", _read_arguments) or (),
        clear_keychain=read_optional(entries, "clearKeychain", Node.boolean) or False,
    )


def _read_arguments(node: Node) -> tuple[tuple[str, Argument], ...]:
    entries = node.mapping()
    if len(entries) > ARGUMENTS_LIMIT:
        raise node.error(f"more than {ARGUMENTS_LIMIT} arguments")
    return tuple((name, _read_argument(value)) for name, value in entries.items())


def _read_argument(node: Node) -> Argument:
    value = node.typed
    return value if isinstance(value, bool | int | float) else node.string(limit=VALUE_LIMIT)


@dataclass(frozen=True, slots=True)
class StopApp(_AppCommand):
    pass


@dataclass(frozen=True, slots=True)
class KillApp(_AppCommand):
    """End an app as the system does when it needs memory: on Android only one in the background ends."""


@dataclass(frozen=True, slots=True)
class ClearState(_AppCommand):
    """Delete what the app has stored; a running app is stopped."""


def _app_reader(command: Callable[[str | None], BaseCommand]) -> Reader:
    def read(node: Node) -> BaseCommand:
        argument = optional_argument(node, "appId")
        return command(_read_app_id(argument) if argument is not None else None)

    return read


@dataclass(frozen=True, slots=True)
class ClearKeychain(BaseCommand):
    """Delete the keychain of an iOS device; other devices have none."""


@dataclass(frozen=True, slots=True)
class SetPermissions(_AppCommand):
    """Change the named permissions of an app without starting it."""

    permissions: tuple[tuple[str, Permission], ...] = ()


def _read_set_permissions(node: Node) -> BaseCommand:
    entries = node.fields((*_APP_FIELDS, "permissions", *COMMON_FIELDS), required=("permissions",))
    return SetPermissions(_read_named_app(entries), _read_permissions(entries["permissions"]))


def _read_permissions(node: Node) -> tuple[tuple[str, Permission], ...]:
    entries = node.mapping()
    if len(entries) > PERMISSIONS_LIMIT:
        raise node.error(f"more than {PERMISSIONS_LIMIT} permissions")
    return tuple((name, cast("Permission", value.choice(get_args(Permission)))) for name, value in entries.items())


def _read_named_app(entries: Mapping[str, Node]) -> str | None:
    """The app of appId, or of url, which is another word for it."""
    if "appId" in entries and "url" in entries:
        raise entries["url"].error_at_key("url is another name for appId: give one of them")
    return read_optional(entries, "url" if "url" in entries else "appId", _read_app_id)


def _read_app_id(node: Node) -> str:
    """The id of an app: its package name or bundle id, or the address of a web page."""
    text = node.string(limit=500).strip()
    if not node.pending and not _APP_ID.fullmatch(text) and not _WEB_ADDRESS.fullmatch(text):
        raise node.error('expected the id of an app, such as "com.example.shop"')
    return text


@dataclass(frozen=True, slots=True)
class _LinkCommand(BaseCommand):
    link: str

    @property
    def subject(self) -> str:
        return self.link


@dataclass(frozen=True, slots=True)
class OpenLink(_LinkCommand):
    """Open a link in the app that handles it, in the browser, or in the app under test without a question."""

    in_browser: bool = False
    in_own_app: bool = False


def _read_open_link(node: Node) -> BaseCommand:
    entries = node.mapping() if node.is_mapping else {}
    link = single_argument(node, "link", "autoVerify", "browser")
    if not link.string(limit=LINK_LIMIT).strip():
        raise link.error("the link is empty")
    return OpenLink(
        link.raw.strip(),
        in_browser=read_optional(entries, "browser", Node.boolean) or False,
        in_own_app=read_optional(entries, "autoVerify", Node.boolean) or False,
    )


@dataclass(frozen=True, slots=True)
class OpenBrowser(_LinkCommand):
    """Open a page in the browser of the device."""


def _read_open_browser(node: Node) -> BaseCommand:
    link = single_argument(node, "link")
    text = link.string(limit=LINK_LIMIT).strip()
    if not link.pending and not _WEB_ADDRESS.fullmatch(text):
        raise link.error('expected the address of a web page, such as "https://example.com"')
    return OpenBrowser(text)


AppCommand: TypeAlias = (
    LaunchApp | StopApp | KillApp | ClearState | ClearKeychain | SetPermissions | OpenLink | OpenBrowser
)
APP_COMMANDS = (
    CommandSpec(
        "launchApp",
        _read_launch_app,
        "without `permissions`, all are granted [where the phone allows it](webdriver.md#what-devices-cannot-do); a "
        "browser grants those that are named, where Maestro does nothing, and `arguments` are query parameters of its "
        "page",
        of_app=True,
    ),
    CommandSpec("stopApp", _app_reader(StopApp), of_app=True),
    CommandSpec(
        "killApp",
        _app_reader(KillApp),
        "Android: the hub has to allow `adb_shell`; simulated devices stop the app",
        of_app=True,
    ),
    CommandSpec("clearState", _app_reader(ClearState), of_app=True),
    CommandSpec(
        "clearKeychain",
        bare_reader(ClearKeychain()),
        simulated="no effect",
        chromium="no effect",
    ),
    CommandSpec(
        "setPermissions",
        _read_set_permissions,
        "browsers can, where Maestro does nothing",
        of_app=True,
    ),
    CommandSpec("openLink", _read_open_link, "in a browser only http and https"),
    CommandSpec("openBrowser", _read_open_browser, simulated="refused"),
)
