"""The hubs that pools have their devices from: a port, and WebDriver behind it."""

from typing import Protocol

from services.executor.automation.devices import Build, Device, DeviceInfo, OnSession
from services.executor.automation.webdriver import opening
from services.executor.automation.webdriver.opening import Target


class Hubs(Protocol):
    """What pools ask of hubs."""

    async def open(
        self, target: Target, info: DeviceInfo, build: Build, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        """A device with a session of its own. Raises DeviceFailure, and then has left no session behind."""

    async def ready(self, url: str) -> bool:
        """Whether the hub answers and takes sessions; never raises."""


class WebDriverHubs:
    """The port over W3C WebDriver."""

    async def open(
        self, target: Target, info: DeviceInfo, build: Build, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        return await opening.open_device(target, info, build, app=app, on_session=on_session)

    async def ready(self, url: str) -> bool:
        return await opening.ready(url)
