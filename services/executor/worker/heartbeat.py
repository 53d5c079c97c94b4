"""Reports what a worker has and does: at once when that changes, and often enough that it does not count as lost."""

import asyncio
from collections.abc import Callable
from time import monotonic

from services.chassis import logs
from services.chassis.retry import log_transient
from services.executor.model.workers import WorkerReport
from services.executor.ports.queue import Workers

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
