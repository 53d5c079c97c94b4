"""The health of a hub: after a failure it gets no sessions until its status is good again, checked with backoff."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from services.chassis import logs

log = logs.get(__name__)

# Whether the hub at a URL answers in time and accepts sessions; never raises.
StatusCheck = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """Seconds between checks of a healthy hub, and of backoff for an unhealthy one."""

    interval: float = 5.0
    first_backoff: float = 1.0
    max_backoff: float = 60.0

    def backoff(self, failures: int) -> float:
        """The pause after `failures` in a row, with jitter, so that workers do not retry together."""
        pause = min(self.max_backoff, self.first_backoff * 2.0 ** min(failures - 1, 30))
        return pause * random.uniform(0.75, 1.25)  # noqa: S311 (jitter)


class HubHealth:
    """One hub, healthy until it fails; `changed` is called when that changes.

    The backoff grows until a session is opened, or until the hub has been healthy for as long as the longest backoff:
    a good status alone does not reset it, because sessions may still fail.
    """

    def __init__(
        self, url: str, *, policy: HealthPolicy, changed: Callable[[], None], now: Callable[[], float] = monotonic
    ) -> None:
        self.url = url
        self.healthy = True
        self._policy = policy
        self._changed = changed
        self._now = now
        self._failures = 0
        self._failed_at = float("-inf")
        self._check_at = float("-inf")
        self._rescheduled = asyncio.Event()

    def report_failure(self, why: str) -> None:
        """A session or check failed: the hub is unhealthy until a later check."""
        self._failures += 1
        backoff = self._policy.backoff(self._failures)
        self._failed_at = self._now()
        self._check_at = self._failed_at + backoff
        self._rescheduled.set()
        log.warning("endpoint_rests", url=self.url, seconds=round(backoff, 1), failures=self._failures, why=why)
        self._set_healthy(False)

    def report_success(self) -> None:
        """A session was opened."""
        self._failures = 0
        self._set_healthy(True)

    def check_soon(self) -> None:
        """Check the status at once, unless the hub is unhealthy."""
        if self.healthy:
            self._check_at = self._now()
            self._rescheduled.set()

    async def wait_until_due(self) -> None:
        """Wait until the status is due for a check."""
        while (left := self._check_at - self._now()) > 0:
            self._rescheduled.clear()
            try:
                async with asyncio.timeout(left):
                    await self._rescheduled.wait()
            except TimeoutError:
                continue

    async def check(self, ready: StatusCheck) -> None:
        """Check the status and update the health. A failure reported meanwhile outweighs a good status."""
        started_at = self._now()
        good = await ready(self.url)
        if self._failed_at > started_at:
            return
        if good:
            self._pass_check()
        else:
            self.report_failure("its status is not good")

    def _pass_check(self) -> None:
        now = self._now()
        self._check_at = now + self._policy.interval
        if self.healthy and now - self._failed_at > self._policy.max_backoff:
            self._failures = 0
        self._set_healthy(True)

    def _set_healthy(self, healthy: bool) -> None:
        if healthy == self.healthy:
            return
        self.healthy = healthy
        if healthy:
            log.info("endpoint_is_back", url=self.url)
        self._changed()


async def watch(health: HubHealth, ready: StatusCheck) -> None:
    """Check a hub whenever it is due, until cancelled."""
    while True:
        await health.wait_until_due()
        await health.check(ready)
