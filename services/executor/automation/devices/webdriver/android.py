"""Apps on Android, by the commands of the UiAutomator2 driver (execute-method map of version 8.7)."""

from collections.abc import Mapping

from services.executor.automation.devices.port import LaunchOptions, script_error
from services.executor.automation.devices.webdriver.actions import ANDROID_KEYS, find_key
from services.executor.automation.devices.webdriver.driver_session import INSTALL_SECONDS
from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.devices.webdriver.phone_commands import PhoneCommands
from services.flows.commands import Argument

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
_ACTIONS = {"allow": "grant", "deny": "revoke", "unset": "revoke"}


class AndroidCommands(PhoneCommands):
    platform = "Android"
    log_type = "logcat"
    id_argument = "appId"
    browsers = frozenset({"com.android.chrome", "com.android.browser", "com.sec.android.app.sbrowser"})
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

    async def set_permissions(self, app_id: str, permissions: Mapping[str, str]) -> None:
        for name, answer in sorted(permissions.items(), key=lambda each: each[0] != "all"):
            names: Json = "all" if name == "all" else [*android_permissions(name)]
            change: dict[str, Json] = {"permissions": names, "appPackage": app_id, "action": _ACTIONS[answer]}
            await self._driver.mobile("changePermissions", change)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.mobile("setGeolocation", {"latitude": latitude, "longitude": longitude})

    async def press_key(self, key: str) -> None:
        await self._driver.mobile("pressKey", {"keycode": find_key(ANDROID_KEYS, key, "an Android phone")})

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
