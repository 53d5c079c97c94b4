"""Apps on Android, by the commands of the UiAutomator2 driver (execute-method map of version 8.7)."""

import re
from collections.abc import Mapping
from contextlib import suppress

from mobiletest_automation.devices.port import DeviceFailure, LaunchOptions, script_error
from mobiletest_automation.devices.webdriver.actions import ANDROID_KEYS, find_key
from mobiletest_automation.devices.webdriver.driver_session import INSTALL_SECONDS
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.flows.app_commands import Argument
from mobiletest_automation.flows.device_commands import ROTATIONS, Mode, Orientation
from mobiletest_automation.model.failures import Category

_PERMISSIONS = {
    "bluetooth": ("BLUETOOTH_CONNECT", "BLUETOOTH_SCAN"),
    "calendar": ("READ_CALENDAR", "WRITE_CALENDAR"),
    "camera": ("CAMERA",),
    "contacts": ("READ_CONTACTS", "WRITE_CONTACTS"),
    "location": ("ACCESS_FINE_LOCATION", "ACCESS_COARSE_LOCATION"),
    "medialibrary": ("READ_EXTERNAL_STORAGE", "WRITE_EXTERNAL_STORAGE"),
    "microphone": ("RECORD_AUDIO",),
    "notifications": ("POST_NOTIFICATIONS",),
    "phone": ("CALL_PHONE", "ANSWER_PHONE_CALLS"),
    "photos": ("READ_MEDIA_IMAGES", "READ_MEDIA_VIDEO"),
    "sms": ("READ_SMS", "RECEIVE_SMS", "SEND_SMS"),
    "storage": ("READ_EXTERNAL_STORAGE", "WRITE_EXTERNAL_STORAGE"),
}
_ACTIONS = {
    "allow": "grant",
    "always": "grant",
    "inuse": "grant",
    "deny": "revoke",
    "never": "revoke",
    "unset": "revoke",
}
_PACKAGE = re.compile(r"[A-Za-z0-9_.]+", re.ASCII)


_NO_SHELL = (
    "killApp needs a hub that allows adb_shell: ask the operator to start Appium with "
    "--allow-insecure=uiautomator2:adb_shell, or use stopApp"
)


class AndroidCommands(PhoneCommands):
    platform = "Android"
    log_type = "logcat"
    id_argument = "appId"
    browsers = frozenset({"com.android.chrome", "com.android.browser", "com.sec.android.app.sbrowser"})
    link_browser = "com.android.chrome"
    system_apps = frozenset({"com.android.settings"})

    async def install(self, app: str) -> None:
        await self._driver.mobile("installApp", {"appPath": app, "replace": True}, seconds=INSTALL_SECONDS)

    async def start(self, app_id: str, options: LaunchOptions) -> None:
        if not options.arguments:
            await self._driver.mobile("activateApp", {"appId": app_id})
            return
        extras: list[Json] = [extra(name, value) for name, value in options.arguments.items()]
        intent: dict[str, Json] = {
            "wait": True,
            "action": "android.intent.action.MAIN",
            "categories": "android.intent.category.LAUNCHER",
            "package": app_id,
            "extras": extras,
        }
        await self._driver.mobile("startActivity", intent)

    async def grant_permissions(self, app_id: str, options: LaunchOptions) -> None:
        """Some phones let nobody grant permissions; a test that needs them fails at its next step."""
        with suppress(DriverError):
            await self.set_permissions(app_id, {"all": "allow"})

    async def set_permissions(self, app_id: str, permissions: Mapping[str, str]) -> None:
        for name, answer in sorted(permissions.items(), key=lambda each: each[0] != "all"):
            names: Json = "all" if name == "all" else [*android_permissions(name)]
            if answer not in _ACTIONS:
                raise script_error(f"Android has no answer {answer} to a request for a permission: use allow or deny")
            change: dict[str, Json] = {"permissions": names, "appPackage": app_id, "action": _ACTIONS[answer]}
            await self._driver.mobile("changePermissions", change)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.mobile("setGeolocation", {"latitude": latitude, "longitude": longitude})

    async def press_key(self, key: str) -> None:
        await self._driver.mobile("pressKey", {"keycode": find_key(ANDROID_KEYS, key, "an Android phone")})

    async def kill(self, app_id: str) -> None:
        """End the app if it is in the background. Needs the insecure feature adb_shell of the hub."""
        if not _PACKAGE.fullmatch(app_id):
            raise script_error(f"{app_id} is not the package name of an app")
        try:
            await self._driver.mobile("shell", {"command": "am", "args": ["kill", app_id]})
        except DriverError as error:
            if "adb_shell" not in error.message:
                raise
            raise DeviceFailure(Category.CONFIG_INVALID, _NO_SHELL) from error

    async def clear_keychain(self) -> None:
        """Android has no keychain of apps."""

    async def open_link(self, url: str, app_id: str | None) -> None:
        package: dict[str, Json] = {"package": app_id} if app_id is not None else {}
        await self._driver.mobile("deepLink", {"url": url, **package})

    async def set_orientation(self, orientation: Orientation) -> None:
        if orientation in ("portrait", "landscape_left"):
            await self._driver.set_orientation(orientation.removesuffix("_left"))
        else:
            await self._driver.set_rotation(ROTATIONS[orientation])

    async def mode_value(self, mode: Mode) -> str:
        if mode is Mode.DARK:
            return str(await self._driver.mobile("getUiMode", {"mode": "night"}))
        state = await self._driver.mobile("getConnectivity", {"services": ["airplaneMode"]})
        return "yes" if isinstance(state, dict) and state.get("airplaneMode") else "no"

    async def set_mode_value(self, mode: Mode, value: str) -> None:
        if mode is Mode.DARK:
            await self._driver.mobile("setUiMode", {"mode": "night", "value": value})
        else:
            await self._driver.mobile("setConnectivity", {"airplaneMode": value == "yes"})

    async def is_mode_on(self, mode: Mode) -> bool:
        value = await self.mode_value(mode)
        if value not in ("yes", "no"):
            raise script_error(f"{mode.words} of this device is {value}, neither on nor off: set it first")
        return value == "yes"

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        await self.set_mode_value(mode, "yes" if on else "no")

    async def reset_location(self) -> None:
        """An emulator keeps its location, because its driver has no command for that."""
        try:
            await self._driver.mobile("resetGeolocation")
        except DriverError as error:
            if "emulator" not in error.message:
                raise

    def media_path(self, name: str) -> str:
        return f"/sdcard/Pictures/mobiletest/{name}"

    async def erase(self, field: str, characters: int) -> None:
        await self.press_key("end")  # the tap has put the caret somewhere in the text
        for _ in range(characters):
            await self.press_key("delete")


def extra(name: str, value: Argument) -> list[Json]:
    """An intent extra as `am` types it: z boolean, i integer, l long, f float, s string."""
    if isinstance(value, bool):
        return ["z", name, "true" if value else "false"]
    if isinstance(value, int):
        return ["i" if -(2**31) <= value < 2**31 else "l", name, str(value)]
    return ["f" if isinstance(value, float) else "s", name, str(value)]


def android_permissions(name: str) -> tuple[str, ...]:
    """Android's names of a permission; a name with a dot is already Android's."""
    if "." in name:
        return (name,)
    short = _PERMISSIONS.get(name.lower())
    if short is None:
        raise script_error(f"unknown permission {name}; known permissions: all, {', '.join(sorted(_PERMISSIONS))}")
    return tuple(f"android.permission.{each}" for each in short)
