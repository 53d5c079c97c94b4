"""Apps on iOS, by the commands of the XCUITest driver (execute-method map of version 12.13)."""

from services.executor.automation.devices.webdriver.driver_session import INSTALL_SECONDS, DriverSession
from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.devices.webdriver.interfaces import LaunchOptions, script_error

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


class IosCommands:
    log_type = "syslog"

    def __init__(self, driver: DriverSession) -> None:
        self._driver = driver

    async def install(self, app: str) -> None:
        await self._driver.mobile("installApp", app=app, seconds=INSTALL_SECONDS)

    async def start(self, app_id: str, options: LaunchOptions) -> None:
        if options.arguments or options.stop_first:
            given: list[Json] = []
            for name, value in options.arguments.items():
                given += [f"-{name}", str(value).lower() if isinstance(value, bool) else str(value)]
            await self._driver.mobile("launchApp", bundleId=app_id, arguments=given)
        else:
            await self._driver.mobile("activateApp", bundleId=app_id)

    async def terminate(self, app_id: str) -> None:
        await self._driver.mobile("terminateApp", bundleId=app_id)

    async def clear_data(self, app_id: str) -> None:
        await self._driver.mobile("clearApp", bundleId=app_id)

    async def set_permissions(self, app_id: str, options: LaunchOptions) -> None:
        named = dict(options.permissions)
        general = named.pop("all", None)
        wanted = {**(dict.fromkeys(_SERVICES, general) if general else {}), **named}
        access: dict[str, Json] = {service: _access(answer) for service, answer in wanted.items()}
        await self._driver.mobile("setPermission", bundleId=app_id, access=access)

    async def state(self, app_id: str) -> int:
        value = await self._driver.mobile("queryAppState", bundleId=app_id)
        return value if isinstance(value, int) else 4

    async def open_link(self, url: str, app_id: str | None) -> None:
        where: dict[str, Json] = {"bundleId": app_id} if app_id else {}
        await self._driver.mobile("deepLink", where, url=url)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._driver.mobile("setSimulatedLocation", latitude=latitude, longitude=longitude)


def _access(answer: str) -> str:
    if answer not in _ANSWERS:
        raise script_error(f"a permission must be allow, deny or unset, not {answer}")
    return _ANSWERS[answer]
