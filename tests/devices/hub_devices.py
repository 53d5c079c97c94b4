"""The Devices port over one hub."""

from collections.abc import Mapping
from typing import NamedTuple

from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceInfo, OnSession, Seed
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.driver_session import DriverSession
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import HubConnection, Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.sessions import open_device


class HubDevices:
    """A fresh session for each attempt, with `app` loaded; `open` are those that were not released."""

    def __init__(self, target: HubTarget, info: DeviceInfo, *, app: str | None = None) -> None:
        self._target = target
        self._info = info
        self._app = app
        self.open: list[Device] = []

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        device = await open_device(self._target, self._info, build, app=self._app, on_session=on_session)
        self.open.append(device)
        return device

    async def release(self, device: Device) -> None:
        self.open.remove(device)
        await device.close()


class OpenSession(NamedTuple):
    """A session at a hub, to which connections are made."""

    id: str
    capabilities: Mapping[str, Json]


class SharedBrowser:
    """The same browser for each attempt, without data of the build's page; `open` are those that were not released."""

    def __init__(self, target: HubTarget, info: DeviceInfo, session: OpenSession) -> None:
        self._target = target
        self._info = info
        self._session = session
        self.open: list[Device] = []

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> WebDriverDevice:
        driver = DriverSession(HubConnection(self._target.url), self._session.id, self._session.capabilities)
        device = assemble_device(HubSession(driver=driver, target=self._target, info=self._info, build=build))
        self.open.append(device)
        if build.static_url:
            await device.app.clear_state()
        return device

    async def release(self, device: Device) -> None:
        self.open.remove(device)
        assert isinstance(device, WebDriverDevice)
        await device.driver.connection.close()
