"""The commands of the drivers of phones that Android and iOS share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from services.executor.automation.devices.port import DeviceFailure, LaunchOptions
from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.devices.webdriver.hub_connection import DriverError, Json
from services.executor.model.failures import Category


class PhoneCommands(ABC):
    """The commands of one platform's driver; `app_id` is a package name or a bundle id."""

    platform: ClassVar[str]
    log_type: ClassVar[str]
    id_argument: ClassVar[str]
    """The driver's name of an argument with an app's id."""
    browsers: ClassVar[frozenset[str]]
    """The system's browsers whose data can be deleted, so that tests of several organisations may use them."""
    lasting_browser: ClassVar[str | None] = None
    """The system's browser whose data cannot be deleted."""
    system_apps: ClassVar[frozenset[str]]
    """Other apps of the system that tests may start."""
    list_arguments: ClassVar[Mapping[str, Json]] = {}

    def __init__(self, driver: DriverSession) -> None:
        self._driver = driver

    @abstractmethod
    async def install(self, app: str) -> None: ...

    @abstractmethod
    async def start(self, app_id: str, options: LaunchOptions) -> None: ...

    @abstractmethod
    async def set_permissions(self, app_id: str, permissions: Mapping[str, str]) -> None: ...

    @abstractmethod
    async def set_location(self, latitude: float, longitude: float) -> None: ...

    @abstractmethod
    async def press_key(self, key: str) -> None: ...

    @abstractmethod
    async def erase(self, field: str, characters: int) -> None:
        """Remove the last characters of the focused field."""

    async def terminate(self, app_id: str) -> None:
        await self._driver.mobile("terminateApp", {self.id_argument: app_id})

    async def clear_data(self, app_id: str) -> None:
        await self._driver.mobile("clearApp", {self.id_argument: app_id})

    async def is_running(self, app_id: str) -> bool:
        """`mobile: queryAppState`: 0 not installed, 1 not running, 2 and 3 in the background, 4 in the foreground."""
        state = await self._driver.mobile("queryAppState", {self.id_argument: app_id})
        return not isinstance(state, int) or state > 1

    async def open_link(self, url: str) -> None:
        await self._driver.mobile("deepLink", {"url": url})

    async def list_apps(self) -> frozenset[str] | None:
        """The ids of the installed apps; None if the driver cannot list them (iOS simulators, Android before 8)."""
        try:
            found = await self._driver.mobile("listApps", self.list_arguments)
        except DriverError as error:
            if error.category is Category.SESSION_LOST:
                raise
            return None
        return frozenset(found) if isinstance(found, dict) else None

    async def is_installed(self, app_id: str) -> bool | None:
        """None if the driver does not say."""
        answer = await self._driver.mobile("isAppInstalled", {self.id_argument: app_id})
        return answer if isinstance(answer, bool) else None

    async def remove(self, app_id: str) -> None:
        """Uninstall the app with its data, if it is there."""
        removed = await self._driver.mobile("removeApp", {self.id_argument: app_id})
        if removed is not True and await self.is_installed(app_id) is not False:
            raise DeviceFailure(Category.DEVICE_UNAVAILABLE, f"{app_id} could not be removed")

    async def clear_clipboard(self) -> None:
        await self._driver.mobile("setClipboard", {"content": ""})
