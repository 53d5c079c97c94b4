"""Apps on Android, by the commands of the UiAutomator2 driver (execute-method map of version 8.7)."""

from services.executor.automation.devices.port import Argument
from services.executor.automation.devices.webdriver.driver_session import INSTALL_SECONDS, DriverSession
from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.devices.webdriver.interfaces import LaunchOptions, script_error

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


class AndroidCommands:
    log_type = "logcat"

    def __init__(self, driver: DriverSession) -> None:
        self._driver = driver

    async def install(self, app: str) -> None:
        await self._driver.mobile("installApp", appPath=app, replace=True, seconds=INSTALL_SECONDS)

    async def start(self, app_id: str, options: LaunchOptions) -> None:
        if not options.arguments:
            await self._driver.mobile("activateApp", appId=app_id)
            return
        extras: list[Json] = [extra(name, value) for name, value in options.arguments.items()]
        await self._driver.mobile(
            "startActivity",
            wait=True,
            action="android.intent.action.MAIN",
            categories="android.intent.category.LAUNCHER",
            package=app_id,
            extras=extras,
        )

    async def terminate(self, app_id: str) -> None:
        await self._driver.mobile("terminateApp", appId=app_id)

    async def clear_data(self, app_id: str) -> None:
        await self._driver.mobile("clearApp", appId=app_id)

    async def set_permissions(self, app_id: str, options: LaunchOptions) -> None:
        for name, answer in sorted(options.permissions.items(), key=lambda each: each[0] != "all"):
            names: Json = "all" if name == "all" else [*permissions(name)]
            action = _ACTIONS.get(answer)
            if action is None:
                raise script_error(f"a permission must be allow, deny or unset, not {answer}")
            await self._driver.mobile("changePermissions", permissions=names, appPackage=app_id, action=action)

    async def state(self, app_id: str) -> int:
        value = await self._driver.mobile("queryAppState", appId=app_id)
        return value if isinstance(value, int) else 4

    async def open_link(self, url: str, app_id: str | None) -> None:
        where: dict[str, Json] = {"package": app_id} if app_id else {}
        await self._driver.mobile("deepLink", where, url=url)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.mobile("setGeolocation", latitude=latitude, longitude=longitude)


def extra(name: str, value: Argument) -> list[Json]:
    """An intent extra as `am` types it: z boolean, i integer, l long, f float, s string."""
    if isinstance(value, bool):
        return ["z", name, "true" if value else "false"]
    if isinstance(value, int):
        return ["i" if -(2**31) <= value < 2**31 else "l", name, str(value)]
    return ["f" if isinstance(value, float) else "s", name, str(value)]


def permissions(name: str) -> tuple[str, ...]:
    """Android's names of a permission; a name with a dot is already Android's."""
    if "." in name:
        return (name,)
    short = _PERMISSIONS.get(name.lower())
    if short is None:
        raise script_error(f"unknown permission {name}; known permissions: all, {', '.join(sorted(_PERMISSIONS))}")
    return tuple(f"android.permission.{each}" for each in short)
