"""The device port over a WebDriver session."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from mobiletest_automation.devices.port import (
    AppControl,
    DeviceInfo,
    DeviceLog,
    Recorder,
    Timer,
    Unsupported,
    View,
)
from mobiletest_automation.devices.webdriver import actions
from mobiletest_automation.devices.webdriver.device_cleaner import DeviceCleaner
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.session_log import SessionLog
from mobiletest_automation.screen.elements import NOWHERE, Bounds, Element, Point

CLOSE_SECONDS = 15.0


async def check_nothing() -> None:
    """For apps whose crash the driver cannot tell."""


class DriverView(ABC):
    """What the views of all drivers share. It knows the bounds of the screen until a command may have resized it."""

    def __init__(self, driver: DriverSession, check_app: Callable[[], Awaitable[None]] = check_nothing) -> None:
        """`check_app` checks that the app runs.

        Raises:
            DeviceFailure: by `check_app`, if the app has ended without being stopped (app_crash).
        """
        self._driver = driver
        self._check_app = check_app
        self._screen = NOWHERE
        # How many commands the session had carried out when the bounds were read.
        self._commands: int | None = None

    @abstractmethod
    async def _read_tree(self, css: frozenset[str]) -> Element: ...

    @abstractmethod
    async def _measure_screen(self) -> Bounds: ...

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        await self._check_app()
        root = await self._read_tree(css)
        self._screen, self._commands = root.bounds, self._driver.commands
        return root

    async def screen_bounds(self) -> Bounds:
        """Asks the driver after a command, which may have rotated the screen, or shown a dialog or a keyboard."""
        if self._commands != self._driver.commands:
            await self._check_app()
            self._screen = await self._measure_screen()
            self._commands = self._driver.commands
        return self._screen

    async def screenshot(self) -> bytes:
        return await self._driver.screenshot()

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        """Resizes nothing."""
        current = self._commands == self._driver.commands
        await self._driver.perform(actions.swipe(start, end, seconds), lasting=seconds)
        if current:
            self._commands = self._driver.commands


@dataclass(eq=False, kw_only=True)
class WebDriverDevice:
    """A phone, a simulator or a browser behind a hub.

    `app_location` is where the hub can read the app.
    """

    info: DeviceInfo
    target: HubTarget
    driver: DriverSession
    app: AppControl
    view: View
    recorder: Recorder
    unsupported: Unsupported
    session_log: SessionLog
    app_location: str | None = None
    cleaner: DeviceCleaner | None = None
    timer: Timer = field(default_factory=Timer)
    _closed: bool = False

    async def begin_step(self) -> None:
        await self.recorder.add_frame()
        await self.session_log.begin_step()

    async def log(self) -> DeviceLog:
        return await self.session_log.read()

    async def close(self) -> None:
        """Bounded in time. Cleans the device, ends the session and closes the connection even if cancelled."""
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.create_task(self._end()))

    async def _end(self) -> None:
        if self.cleaner is not None:
            await self.cleaner.finish()
        await self.driver.end(seconds=CLOSE_SECONDS)
