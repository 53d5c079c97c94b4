"""Expires leases and enforces time limits: a lost run gets another attempt or ends, an overdue run ends."""

import asyncio
from collections.abc import Callable
from time import monotonic

from services.chassis import logs
from services.chassis.leases import Lease
from services.chassis.retry import log_transient
from services.executor import telemetry
from services.executor.model.runs import RunLimits
from services.executor.model.workers import Fleet
from services.executor.ports.executions import Workers
from services.executor.ports.runs import OverdueRuns, RunKey

BATCH = 50
# A process without the lease asks for it every so many intervals.
FOLLOWER_INTERVALS = 2
MEASURE_SECONDS = 5.0

log = logs.get(__name__)


class Reaper:
    """Runs in every process; the lease lets one of them act at a time.

    After an outage of the database it pauses for the lifetime of a run's lease, so that healthy workers that could not
    renew theirs do so first.
    """

    def __init__(
        self,
        runs: OverdueRuns,
        workers: Workers,
        lease: Lease,
        limits: RunLimits,
        *,
        every: float = 1.0,
        on_reaped: Callable[[], None] = lambda: None,
    ) -> None:
        """`every` is in seconds; `on_reaped` is called after each pass."""
        self._runs = runs
        self._workers = workers
        self._lease = lease
        self._recovery_seconds = limits.lease_ttl.total_seconds()
        self._every = every
        self._on_reaped = on_reaped
        self._measured_at = float("-inf")

    async def run(self) -> None:
        """Reap until cancelled."""
        while True:
            pause = self._recovery_seconds
            with log_transient(log, "reaper_failed"):
                leads = await self._reap_as_leader()
                pause = self._every if leads else self._every * FOLLOWER_INTERVALS
            await asyncio.sleep(pause)

    async def _reap_as_leader(self) -> bool:
        if not await self._lease.acquire():
            self._measured_at = float("-inf")
            telemetry.oldest_unclaimed.clear()
            telemetry.stuck.clear()
            return False
        await self.reap()
        self._on_reaped()
        if monotonic() - self._measured_at >= MEASURE_SECONDS:
            self._measured_at = monotonic()
            backlog = await self._runs.backlog()
            telemetry.oldest_unclaimed.set(backlog.oldest_seconds)
            telemetry.stuck.set(backlog.stuck)
        return True

    async def reap(self) -> int:
        """Expire a batch of runs that are due; returns how many there were."""
        due = await self._runs.due(BATCH)
        fleet = Fleet(await self._workers.all() if due else ())
        await asyncio.gather(*(self._expire(key, fleet) for key in due))
        return len(due)

    async def _expire(self, key: RunKey, fleet: Fleet) -> None:
        """A run that cannot be written now stays due for the next pass and does not delay the others."""
        with log_transient(log, "run_not_reaped", execution_id=key.execution_id, run_id=key.run_id):
            await self._runs.expire(key, fleet)
            log.info("run_was_due", execution_id=key.execution_id, run_id=key.run_id)
