"""Apps on iOS, by the commands of the XCUITest driver (execute-method map of version 12.13)."""

from collections.abc import Mapping
from typing import ClassVar

from services.executor.automation.devices.port import NO_FOCUS, DeviceFailure, LaunchOptions, script_error
from services.executor.automation.devices.webdriver.actions import IOS_BUTTONS, IOS_KEYS, find_key
from services.executor.automation.devices.webdriver.driver_session import INSTALL_SECONDS
from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.devices.webdriver.phone_commands import PhoneCommands
from services.executor.model.failures import Category

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
_ANSWERS = {"allow": "yes", "deny": "no", "unset": "unset"}


class IosCommands(PhoneCommands):
    platform = "iOS"
    log_type = "syslog"
    id_argument = "bundleId"
    browsers = frozenset()
    lasting_browser = "com.apple.mobilesafari"
    system_apps = frozenset({"com.apple.Preferences"})
    list_arguments: ClassVar[Mapping[str, Json]] = {"applicationType": "User"}

    async def install(self, app: str) -> None:
        await self._driver.mobile("installApp", {"app": app}, seconds=INSTALL_SECONDS)

    async def start(self, app_id: str, options: LaunchOptions) -> None:
        if options.arguments or options.stop_first:
            given: list[Json] = []
            for name, value in options.arguments.items():
                given += [f"-{name}", str(value).lower() if isinstance(value, bool) else str(value)]
            await self._driver.mobile("launchApp", {"bundleId": app_id, "arguments": given})
        else:
            await self._driver.mobile("activateApp", {"bundleId": app_id})

    async def set_permissions(self, app_id: str, permissions: Mapping[str, str]) -> None:
        named = dict(permissions)
        general = named.pop("all", None)
        wanted = {**(dict.fromkeys(_SERVICES, general) if general else {}), **named}
        access: dict[str, Json] = {service: _ANSWERS[answer] for service, answer in wanted.items()}
        await self._driver.mobile("setPermission", {"bundleId": app_id, "access": access})

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.mobile("setSimulatedLocation", {"latitude": latitude, "longitude": longitude})

    async def press_key(self, key: str) -> None:
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

    async def erase(self, field: str, characters: int) -> None:
        await self._driver.send_keys(field, "\b" * characters)
