"""Apps on iOS, by the commands of the XCUITest driver (execute-method map of version 12.13)."""

from collections.abc import Mapping
from typing import ClassVar

from mobiletest_automation.devices.port import NO_FOCUS, DeviceFailure, LaunchOptions, script_error
from mobiletest_automation.devices.webdriver.actions import IOS_BUTTONS, IOS_KEYS, find_key
from mobiletest_automation.devices.webdriver.driver_session import INSTALL_SECONDS, DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.devices.webdriver.phone_commands import PhoneCommands
from mobiletest_automation.flows.app_commands import Argument
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.failures import Category

_SERVICES = (
    "calendar",
    "camera",
    "contacts",
    "homekit",
    "location",
    "medialibrary",
    "microphone",
    "motion",
    "notifications",
    "photos",
    "reminders",
    "siri",
    "speech",
)
_ANSWERS = {"allow": "yes", "always": "yes", "limited": "limited", "deny": "no", "never": "no", "unset": "unset"}


NO_AIRPLANE_MODE = "the airplane mode of an iOS device cannot be changed"


class IosCommands(PhoneCommands):
    platform = "iOS"
    log_type = "syslog"
    report_type = "crashlog"
    id_argument = "bundleId"
    browsers = frozenset()
    lasting_browser = "com.apple.mobilesafari"
    system_apps = frozenset({"com.apple.Preferences"})
    removes_media = False
    list_arguments: ClassVar[Mapping[str, Json]] = {"applicationType": "User"}

    async def install(self, app: str) -> None:
        await self._driver.mobile("installApp", {"app": app}, seconds=INSTALL_SECONDS)

    async def start(self, app_id: str, options: LaunchOptions) -> None:
        if options.arguments or options.stop_first:
            given: list[Json] = []
            for name, value in options.arguments.items():
                given += [argument_name(name, value), str(value).lower() if isinstance(value, bool) else str(value)]
            await self._driver.mobile("launchApp", {"bundleId": app_id, "arguments": given})
        else:
            await self._driver.mobile("activateApp", {"bundleId": app_id})

    def __init__(self, driver: DriverSession) -> None:
        super().__init__(driver)
        self._grants = True
        # The apps that have all permissions: granting them restarts the home screen, which takes seconds.
        self._granted: set[str] = set()

    async def grant_permissions(self, app_id: str, options: LaunchOptions) -> None:
        """Only on simulators: all but that of the location need applesimutils on the hub.

        An app that may be running is left alone, because it would be ended.
        """
        stopped = options.stop_first or options.clear_state
        if not self._grants or not stopped or (app_id in self._granted and not options.clear_state):
            return
        try:
            await self.set_permissions(app_id, {"all": "allow"})
            self._granted.add(app_id)
        except DriverError:
            self._grants = False

    async def set_permissions(self, app_id: str, permissions: Mapping[str, str]) -> None:
        self._granted.discard(app_id)
        named = dict(permissions)
        general = named.pop("all", None)
        wanted = {**(dict.fromkeys(_SERVICES, general) if general else {}), **named}
        access: dict[str, Json] = dict(_access(service, answer) for service, answer in wanted.items())
        await self._driver.mobile("setPermission", {"bundleId": app_id, "access": access})

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.mobile("setSimulatedLocation", {"latitude": latitude, "longitude": longitude})

    async def press_key(self, key: str) -> None:
        if key == "lock":
            await self._driver.mobile("lock")
            return
        pressed = find_key({**IOS_KEYS, **IOS_BUTTONS}, key, "an iPhone")
        if pressed in IOS_BUTTONS.values():
            await self._driver.mobile("pressButton", {"name": pressed})
            return
        try:
            await self._driver.send_keys(await self._driver.active(), pressed)
        except DeviceFailure as failure:
            if failure.category is not Category.ELEMENT_NOT_FOUND:
                raise
            raise script_error(NO_FOCUS) from failure

    async def kill(self, app_id: str) -> None:
        await self.terminate(app_id)

    async def clear_keychain(self) -> None:
        await self._driver.mobile("clearKeychains")

    async def open_link(self, url: str, app_id: str | None) -> None:
        """iOS itself chooses the app, so that `app_id` has no effect."""
        await self._driver.mobile("deepLink", {"url": url})

    async def set_orientation(self, orientation: Orientation) -> None:
        await self._driver.set_orientation("landscape" if orientation.startswith("landscape") else "portrait")

    async def mode_value(self, mode: Mode) -> str:
        if mode is not Mode.DARK:
            raise script_error(NO_AIRPLANE_MODE)
        appearance = await self._driver.mobile("getAppearance")
        return str(appearance.get("style")) if isinstance(appearance, dict) else ""

    async def set_mode_value(self, mode: Mode, value: str) -> None:
        if mode is not Mode.DARK:
            raise script_error(NO_AIRPLANE_MODE)
        await self._driver.mobile("setAppearance", {"style": value})

    async def is_mode_on(self, mode: Mode) -> bool:
        value = await self.mode_value(mode)
        if value not in ("dark", "light"):
            raise script_error(f"the state of {mode.words} is unknown on this device")
        return value == "dark"

    async def set_mode(self, mode: Mode, *, on: bool) -> None:
        await self.set_mode_value(mode, "dark" if on else "light")

    async def reset_location(self) -> None:
        await self._driver.mobile("resetSimulatedLocation")

    def media_path(self, name: str) -> str:
        """A simulator adds a file without a folder to its photos."""
        return name

    async def erase(self, field: str, characters: int) -> None:
        await self._driver.send_keys(field, "\b" * characters)


def argument_name(name: str, value: Argument) -> str:
    """As Maestro passes it: a name has a dash, unless its value is a boolean."""
    return name if isinstance(value, bool) or name.startswith("-") else f"-{name}"


def _access(service: str, answer: str) -> tuple[str, Json]:
    """The driver's service and its answer. Location has two services: always, and while the app is in use."""
    if service == "location" and answer != "inuse":
        return "location-always", _ANSWERS[answer]
    return service, "yes" if answer == "inuse" else _ANSWERS[answer]
