"""The health of a hub: it rests after a failure, longer each time, and comes back after one good status."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from services.chassis import logs

log = logs.get(__name__)

StatusCheck = Callable[[str], Awaitable[bool]]
"""Whether the hub at an address answers and takes sessions."""


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """Seconds: how often a hub that is well is asked for its status, and how long one that is not is left alone."""

    every: float = 5.0
    first: float = 1.0
    most: float = 60.0
    answer: float = 5.0

    def after(self, misses: int) -> float:
        """The rest after so many failures in a row, with jitter, so that workers do not come back together."""
        rest = min(self.most, self.first * 2.0 ** min(misses - 1, 30))
        return rest * random.uniform(0.75, 1.25)  # noqa: S311 (jitter)


class HubHealth:
    """One hub. It is taken to be well until it fails; `changed` is called when that changes.

    The rests grow until a session could be opened, or until it has been well for as long as the longest rest: a hub
    whose status is good and whose sessions fail is not tried at every status.
    """

    def __init__(
        self, url: str, *, rests: HealthPolicy, changed: Callable[[], None], now: Callable[[], float] = monotonic
    ) -> None:
        self.url = url
        self.up = True
        self._rests = rests
        self._changed = changed
        self._now = now
        self._misses = 0
        self._failed_at = float("-inf")
        self._look_at = float("-inf")
        self._sooner = asyncio.Event()

    def failed(self, why: str) -> None:
        """It did not do what hubs are for: nobody is sent there until it is well again."""
        self._misses += 1
        rest = self._rests.after(self._misses)
        self._failed_at = self._now()
        self._look_at = self._failed_at + rest
        self._sooner.set()
        log.warning("endpoint_rests", url=self.url, seconds=round(rest, 1), failures=self._misses, why=why)
        self._turn(up=False)

    def worked(self) -> None:
        """A session was opened there."""
        self._misses = 0
        self._turn(up=True)

    def check_soon(self) -> None:
        """Ask for its status at once, unless it rests."""
        if self.up:
            self._look_at = self._now()
            self._sooner.set()

    async def due(self) -> None:
        """Wait until its status is to be asked for."""
        while (left := self._look_at - self._now()) > 0:
            self._sooner.clear()
            try:
                async with asyncio.timeout(left):
                    await self._sooner.wait()
            except TimeoutError:
                continue

    async def look(self, ready: StatusCheck) -> None:
        """Ask for its status, and draw the conclusions."""
        asked_at = self._now()
        try:
            async with asyncio.timeout(self._rests.answer):
                well = await ready(self.url)
        except TimeoutError:
            well = False
        if self._failed_at > asked_at:
            return
        if well:
            self._is_well()
        else:
            self.failed("its status is not good")

    def _is_well(self) -> None:
        now = self._now()
        self._look_at = now + self._rests.every
        if self.up and now - self._failed_at > self._rests.most:
            self._misses = 0
        self._turn(up=True)

    def _turn(self, *, up: bool) -> None:
        if up != self.up:
            self.up = up
            if up:
                log.info("endpoint_is_back", url=self.url)
            self._changed()


async def watch(endpoint: HubHealth, ready: StatusCheck) -> None:
    """Look after an endpoint until cancelled."""
    while True:
        await endpoint.due()
        await endpoint.look(ready)
