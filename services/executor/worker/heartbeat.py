"""What a worker writes regularly so that it and its runs do not count as lost: reports of itself, renewed leases."""

import asyncio
from collections.abc import Callable
from time import monotonic

from services.chassis import logs
from services.chassis.retry import log_transient
from services.executor.model.runs import RunLimits
from services.executor.model.workers import WorkerReport
from services.executor.ports.executions import Workers
from services.executor.ports.runs import Runs
from services.executor.worker.worker import Worker

MAX_AGE_SECONDS = 60.0

log = logs.get(__name__)


class Heartbeat:
    """Compares the state every `every` seconds, and reports it when it differs or after `renewal` seconds."""

    def __init__(
        self,
        workers: Workers,
        read: Callable[[], WorkerReport],
        *,
        every: float,
        renewal: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._workers = workers
        self._read = read
        self._every = min(every, renewal)
        self._renewal = renewal
        self._clock = clock
        self._reported: WorkerReport | None = None
        self._reported_at = float("-inf")

    async def run(self) -> None:
        """Report until cancelled, then retire; database outages are waited out."""
        try:
            while True:
                with log_transient(log, "heartbeat_not_stored"):
                    await self.beat()
                await asyncio.sleep(self._every)
        finally:
            with log_transient(log, "worker_not_retired"):
                await self._workers.retire(self._read().id)

    async def beat(self) -> None:
        """Report, if it is time to."""
        report = self._read()
        if report == self._reported and self._clock() - self._reported_at < self._renewal:
            return
        await self._workers.report(report)
        self._reported, self._reported_at = report, self._clock()


class LeaseRenewer:
    """Reads notices every `every` seconds, and renews leases after a third of their lifetime."""

    def __init__(
        self,
        runs: Runs,
        worker: Worker,
        limits: RunLimits,
        *,
        every: float = 1.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._runs = runs
        self._worker = worker
        self._renewal = limits.lease_ttl.total_seconds() / 3
        self._every = min(every, self._renewal)
        self._clock = clock
        self._renewed_at = float("-inf")
        self._last_turn_at = self._clock()

    async def check(self) -> None:
        """The liveness check.

        Raises:
            RuntimeError: the loop is stuck.
        """
        if (age := self._clock() - self._last_turn_at) > MAX_AGE_SECONDS:
            raise RuntimeError(f"no lease was renewed for {age:.0f} s")

    async def run(self) -> None:
        """Renew until cancelled; database outages are waited out."""
        while True:
            self._last_turn_at = self._clock()
            with log_transient(log, "leases_not_renewed", runs=len(self._worker.active)):
                await self.renew()
            await asyncio.sleep(self._every)

    async def renew(self) -> None:
        """Renew the leases if it is time, and stop the runs that there are notices about."""
        tokens = {run_id: active.token for run_id, active in self._worker.active.items()}
        if not tokens:
            return
        if self._clock() - self._renewed_at >= self._renewal:
            await self._runs.renew(tokens)
            # Only after a success: the next turn, not the next third of the lease, repeats what failed.
            self._renewed_at = self._clock()
        for run_id, reason in (await self._runs.notices(tokens)).items():
            active = self._worker.active.get(run_id)
            # While the database was asked, this worker may have ended the attempt or begun the next one under a new
            # token.
            if active is not None and active.in_attempt and active.token == tokens[run_id]:
                active.stop(reason)
