"""Lets time do what it has to: expired leases to another attempt or an end, runs beyond their limits to their end."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from time import monotonic
from typing import Protocol

from services.chassis import logs
from services.chassis.retry import is_transient
from services.executor import telemetry
from services.executor.model.runs import RunLimits
from services.executor.ports.runs import Backlog, RunKey, Runs

BATCH = 50
MEASURE_SECONDS = 5.0

log = logs.get(__name__)


class Turn(Protocol):
    """Whose turn it is to reap."""

    async def acquire(self) -> bool: ...


class Reaper:
    """One per process; `turn`, a lease, lets one of them act at a time.

    After an outage of the database it rests for the life of a lease: workers that could not renew theirs, and are
    well, get the first word.
    """

    def __init__(
        self,
        runs: Runs,
        turn: Turn,
        limits: RunLimits,
        *,
        every: float = 1.0,
        reaped: Callable[[], None] = lambda: None,
    ) -> None:
        """`every` is in seconds; `reaped` is called after each look, for what has to follow."""
        self._runs = runs
        self._turn = turn
        self._rest = limits.lease_ttl
        self._every = timedelta(seconds=every)
        self._reaped = reaped
        self._measured_at = float("-inf")

    async def run(self) -> None:
        """Reap until cancelled."""
        while True:
            pause = self._every
            try:
                if await self._turn.acquire():
                    await self.reap()
                    self._reaped()
                    await self._measure()
                else:
                    _show(Backlog(0.0, 0))
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("reaper_failed", error=repr(error))
                pause = self._rest
            await asyncio.sleep(pause.total_seconds())

    async def reap(self) -> int:
        """Look at everything that is due once; how many runs that were."""
        due = await self._runs.due(BATCH)
        await asyncio.gather(*(self._expire(key) for key in due))
        return len(due)

    async def _measure(self) -> None:
        if monotonic() - self._measured_at >= MEASURE_SECONDS:
            self._measured_at = monotonic()
            _show(await self._runs.backlog())

    async def _expire(self, key: RunKey) -> None:
        """One that cannot be written now is due again the next time, and holds up no other."""
        try:
            await self._runs.expire(key)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("run_not_reaped", execution_id=key.execution_id, run_id=key.run_id, error=repr(error))
        else:
            log.info("run_was_due", execution_id=key.execution_id, run_id=key.run_id)


def _show(backlog: Backlog) -> None:
    """One process shows the figures of all; the others show nothing waiting."""
    telemetry.oldest_unclaimed.set(backlog.oldest_seconds)
    telemetry.stuck.set(backlog.stuck)
