"""The Devices port over one hub."""

from services.executor.automation.devices.port import Build, Device, DeviceInfo, OnSession, Seed
from services.executor.automation.devices.webdriver.hub_target import HubTarget
from services.executor.automation.devices.webdriver.sessions import open_device


class HubDevices:
    """A fresh session for each attempt, with `app` loaded; `open` are those that were not released."""

    def __init__(self, target: HubTarget, info: DeviceInfo, *, app: str | None = None) -> None:
        self._target = target
        self._info = info
        self._app = app
        self.open: list[Device] = []

    async def acquire(self, platform: str, build: Build, seed: Seed, *, on_session: OnSession | None = None) -> Device:
        device = await open_device(self._target, self._info, build, app=self._app, on_session=on_session)
        self.open.append(device)
        return device

    async def release(self, device: Device) -> None:
        self.open.remove(device)
        await device.close()
