"""Devices to clean, in memory."""

from mobiletest_automation.devices.port import MarksUnavailable
from mobiletest_automation.model.devices import UncleanDevice


class FakeUncleanDevices:
    """The port `UncleanDevices`; while `down` is set every call raises it."""

    def __init__(self) -> None:
        self.marked: dict[tuple[str, str], UncleanDevice] = {}
        self.down: type[MarksUnavailable] | None = None

    async def mark(self, device: UncleanDevice) -> None:
        self._check()
        self.marked[device.hub, device.device] = device

    async def find(self, hub: str, device: str) -> UncleanDevice | None:
        self._check()
        return self.marked.get((hub, device))

    async def find_by_session(self, hub: str, session: str) -> UncleanDevice | None:
        self._check()
        return next((each for each in self.marked.values() if (each.hub, each.session) == (hub, session)), None)

    async def forget(self, device: UncleanDevice) -> None:
        self._check()
        known = self.marked.get((device.hub, device.device))
        if known is not None and known.session == device.session:
            del self.marked[device.hub, device.device]

    def _check(self) -> None:
        if self.down is not None:
            raise self.down
