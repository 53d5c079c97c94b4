"""The app under test on a phone, for Android and iOS alike."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import ClassVar

from services.executor.automation.devices.port import Build, DeviceFailure, LaunchOptions, Orientation
from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.devices.webdriver.hub_connection import DriverError
from services.executor.automation.devices.webdriver.hub_target import HubTarget, check_address
from services.executor.model.failures import Category

CHECK_EVERY_SECONDS = 1.0


class PhoneCommands(ABC):
    """The commands of one platform's driver; `app_id` is a package name or a bundle id."""

    platform: ClassVar[str]
    log_type: ClassVar[str]
    id_argument: ClassVar[str]
    """The driver's name of an argument with an app's id."""

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


class PhoneApp:
    """Starts and stops apps, and checks that an app that should be running is."""

    def __init__(
        self,
        driver: DriverSession,
        phone: PhoneCommands,
        target: HubTarget,
        *,
        app_id: str | None,
        app: str | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`app_id` is that of the app under test, if known; `app` is where the hub can read the app."""
        self._driver = driver
        self._phone = phone
        self._target = target
        self._app_id = app_id
        self._app = app
        self._clock = clock
        self._running: str | None = None
        self._checked = 0.0

    @property
    def log_type(self) -> str:
        return self._phone.log_type

    async def install(self, build: Build) -> None:
        if self._app is not None:
            with _reported_as(Category.APP_INSTALL_FAILED, "the app was not installed", hidden=self._app):
                await self._phone.install(self._app)

    async def launch(self, options: LaunchOptions) -> None:
        app_id = self._resolve_app_id(options.app_id)
        with _reported_as(Category.APP_LAUNCH_FAILED, f"{app_id} was not launched"):
            await self._start(app_id, options)
        self._running, self._checked = app_id, self._clock()

    async def _start(self, app_id: str, options: LaunchOptions) -> None:
        if options.stop_first or options.clear_state:
            self._running = None
            await self._phone.terminate(app_id)
        if options.clear_state:
            await self._phone.clear_data(app_id)
        if options.permissions:
            await self._phone.set_permissions(app_id, options.permissions)
        await self._phone.start(app_id, options)

    async def stop(self, app_id: str | None) -> None:
        named = self._resolve_app_id(app_id)
        self._running = None if self._running == named else self._running
        await self._phone.terminate(named)

    async def clear_state(self, app_id: str | None) -> None:
        await self.stop(app_id)
        await self._phone.clear_data(self._resolve_app_id(app_id))

    async def open_link(self, url: str) -> None:
        await check_address(self._target.addresses, url, Category.SCRIPT_ERROR, "the link")
        await self._phone.open_link(url)

    async def set_location(self, latitude: float, longitude: float) -> None:
        await self._phone.set_location(latitude, longitude)

    async def set_orientation(self, orientation: Orientation) -> None:
        await self._driver.set_orientation(orientation)

    async def check(self) -> None:
        now = self._clock()
        if self._running is None or now - self._checked < CHECK_EVERY_SECONDS:
            return
        self._checked = now
        if not await self._phone.is_running(self._running):
            raise DeviceFailure(Category.APP_CRASH, f"{self._running} is no longer running: it has crashed or quit")

    def _resolve_app_id(self, app_id: str | None) -> str:
        named = app_id or self._app_id
        if named is None:
            raise DeviceFailure(
                Category.CONFIG_INVALID,
                "unknown app under test: the build has no package name, and the pool names no app "
                "(capability appium:appPackage or appium:bundleId)",
            )
        return named


@contextmanager
def _reported_as(category: Category, what: str, *, hidden: str | None = None) -> Iterator[None]:
    """Errors of the driver inside the block get this category, unless the session is lost.

    `hidden` does not appear in their messages.
    """
    try:
        yield
    except DriverError as error:
        if error.category is Category.SESSION_LOST:
            raise
        message = error.message.replace(hidden, "the file") if hidden else error.message
        raise DeviceFailure(category, f"{what}: {message}") from error
