"""Keeps the leases of the runs that a worker holds, and learns which of them are to end or are lost."""

import asyncio
from time import monotonic

from services.chassis import logs
from services.chassis.retry import is_transient
from services.executor.model.runs import RunLimits
from services.executor.ports.runs import Notice, Runs
from services.executor.worker.active_run import StopReason
from services.executor.worker.worker import Worker

MAX_AGE_SECONDS = 60.0
_STOPS = {Notice.CANCEL: StopReason.CANCEL, Notice.LOST: StopReason.LOST}

log = logs.get(__name__)


class LeaseRenewer:
    """Looks every `every` seconds, and renews at a third of the lease's life."""

    def __init__(self, runs: Runs, worker: Worker, limits: RunLimits, *, every: float = 1.0) -> None:
        self._runs = runs
        self._worker = worker
        self._renewal = limits.lease_ttl.total_seconds() / 3
        self._every = min(every, self._renewal)
        self._renewed_at = float("-inf")
        self._came_round_at = monotonic()

    async def check(self) -> None:
        """For liveness: raises when the loop is stuck."""
        if (age := monotonic() - self._came_round_at) > MAX_AGE_SECONDS:
            raise RuntimeError(f"no lease was renewed for {age:.0f} s")

    async def run(self) -> None:
        """Keep until cancelled; a database that is away is asked again."""
        while True:
            self._came_round_at = monotonic()
            try:
                await self.look()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("leases_not_renewed", runs=len(self._worker.held), error=repr(error))
            await asyncio.sleep(self._every)

    async def look(self) -> None:
        """Renew if it is time, and pass on what there is to know."""
        tokens = {run_id: held.token for run_id, held in self._worker.held.items()}
        if not tokens:
            return
        if monotonic() - self._renewed_at >= self._renewal:
            await self._runs.renew(tokens)
            self._renewed_at = monotonic()
        for run_id, notice in (await self._runs.notices(tokens)).items():
            held = self._worker.held.get(run_id)
            if held is not None and held.trying and held.token == tokens[run_id]:
                held.stop(_STOPS[notice])
