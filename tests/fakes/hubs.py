"""Hubs in memory: sessions that open, fail or hang as a test says."""

import asyncio
from dataclasses import dataclass

from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceFailure, DeviceInfo, OnSession
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import Session
from tests.fakes.devices import FakeDevice


@dataclass(frozen=True)
class Opened:
    """What a hub was asked for."""

    url: str
    name: str
    app: str | None


class FakeHubs:
    """Hubs by their addresses: `broken` open no sessions, `down` have no good status."""

    def __init__(
        self,
        *,
        broken: dict[str, DeviceFailure] | None = None,
        down: set[str] | None = None,
        hanging: bool = False,
    ) -> None:
        self.broken = broken or {}
        self.down = down or set()
        self.hanging = hanging
        self.opened: list[Opened] = []
        self.asked: list[str] = []

    async def open_device(
        self, target: HubTarget, info: DeviceInfo, build: AppUnderTest, *, app: str | None, on_session: OnSession | None
    ) -> Device:
        self.opened.append(Opened(target.url, info.name, app))
        await asyncio.sleep(0)
        if self.hanging:
            await asyncio.Event().wait()
        if target.url in self.broken:
            raise self.broken[target.url]
        if on_session is not None:
            await on_session(Session(target.url, f"session-{len(self.opened)}"))
        device = FakeDevice()
        device.info = info
        return device

    async def is_ready(self, url: str) -> bool:
        self.asked.append(url)
        return url not in self.down
