"""Clocks of devices: the machine's, and a virtual one for simulated devices."""

import asyncio
from time import monotonic


class RealTimer:
    """Time as it passes."""

    def now(self) -> float:
        return monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualTimer:
    """Time that passes only when somebody waits for it; each of its seconds takes `scale` real ones."""

    def __init__(self, scale: float = 0.0) -> None:
        self._now = 0.0
        self._scale = scale

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Always gives way to other tasks once, so that waiting on a virtual clock can be cancelled."""
        await asyncio.sleep(seconds * self._scale)
        self._now += max(seconds, 0.0)
