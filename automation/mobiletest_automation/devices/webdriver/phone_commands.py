"""The commands of the drivers of phones that Android and iOS share."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from mobiletest_automation.devices.port import DeviceFailure, LaunchOptions
from mobiletest_automation.devices.webdriver.driver_session import INSTALL_SECONDS, DriverSession
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.devices import DeviceChange, DeviceSetting
from mobiletest_automation.model.failures import Category


class PhoneCommands(ABC):
    """The commands of one platform's driver; `app_id` is a package name or a bundle id."""

    platform: ClassVar[str]
    # The driver's names of the device's log, and of the system's reports of crashes, if they are not in the log.
    log_type: ClassVar[str]
    report_type: ClassVar[str] = ""
    # The driver's name of an argument with an app's id.
    id_argument: ClassVar[str]
    # The system's browsers whose data can be deleted, so that tests of several organisations may use them.
    browsers: ClassVar[frozenset[str]]
    # The system's browser whose data cannot be deleted.
    lasting_browser: ClassVar[str | None] = None
    # The browser that opens links on request.
    link_browser: ClassVar[str | None] = None
    # Other apps of the system that tests may start.
    system_apps: ClassVar[frozenset[str]]
    # Whether media that were added can be removed again.
    removes_media: ClassVar[bool] = True
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
    async def grant_permissions(self, app_id: str, options: LaunchOptions) -> None:
        """Grant all permissions that the app asks for before it is started, where the driver can do so by itself."""

    @abstractmethod
    async def set_location(self, latitude: float, longitude: float) -> None: ...

    @abstractmethod
    async def press_key(self, key: str) -> None: ...

    @abstractmethod
    async def erase(self, field: str, characters: int) -> None:
        """Remove the last characters of the focused field."""

    @abstractmethod
    async def kill(self, app_id: str) -> None: ...

    @abstractmethod
    async def clear_keychain(self) -> None: ...

    @abstractmethod
    async def open_link(self, url: str, app_id: str | None) -> None:
        """`app_id` is the app that opens the link; None for any that handles it."""

    @abstractmethod
    async def set_orientation(self, orientation: Orientation) -> None: ...

    @abstractmethod
    async def mode_value(self, mode: Mode) -> str:
        """The driver's own word for the state of the mode."""

    @abstractmethod
    async def set_mode_value(self, mode: Mode, value: str) -> None: ...

    @abstractmethod
    async def is_mode_on(self, mode: Mode) -> bool: ...

    @abstractmethod
    async def set_mode(self, mode: Mode, *, on: bool) -> None: ...

    @abstractmethod
    async def reset_location(self) -> None:
        """Return to the real location, where the driver can."""

    @abstractmethod
    def media_path(self, name: str) -> str:
        """Where the device keeps media of this name."""

    async def push_file(self, path: str, content: bytes) -> None:
        payload = base64.b64encode(content).decode()
        await self._driver.mobile("pushFile", {"remotePath": path, "payload": payload}, seconds=INSTALL_SECONDS)

    async def put_back(self, change: DeviceChange) -> None:
        """Undo a change that was noted."""
        match change.setting:
            case DeviceSetting.AIRPLANE_MODE | DeviceSetting.DARK_MODE:
                await self.set_mode_value(Mode(change.setting), change.before)
            case DeviceSetting.ORIENTATION:
                if await self._driver.orientation() != change.before:
                    await self._driver.set_orientation(change.before)
            case DeviceSetting.LOCATION:
                await self.reset_location()
            case DeviceSetting.MEDIA:
                await self._driver.mobile("deleteFile", {"remotePath": change.before})

    async def terminate(self, app_id: str) -> None:
        await self._driver.mobile("terminateApp", {self.id_argument: app_id})

    async def clear_data(self, app_id: str) -> None:
        await self._driver.mobile("clearApp", {self.id_argument: app_id})

    async def is_running(self, app_id: str) -> bool:
        """`mobile: queryAppState`: 0 not installed, 1 not running, 2 and 3 in the background, 4 in the foreground."""
        state = await self._driver.mobile("queryAppState", {self.id_argument: app_id})
        return not isinstance(state, int) or state > 1

    async def list_apps(self) -> frozenset[str] | None:
        """The ids of the installed apps; None if the driver cannot list them (iOS simulators, Android before 8)."""
        try:
            apps = await self._driver.mobile("listApps", self.list_arguments)
        except DriverError as error:
            if error.category is Category.SESSION_LOST:
                raise
            return None
        return frozenset(apps) if isinstance(apps, dict) else None

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
