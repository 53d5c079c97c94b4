"""Deletes the artifacts of runs that ended longer ago than the retention period. History and statistics stay."""

from datetime import timedelta

from services.chassis import logs
from services.chassis.retry import run_every
from services.executor import telemetry
from services.executor.artifacts import run_prefix
from services.executor.ports.runs import ArtifactFiles, Lease, RetainedRuns

BATCH = 50
EVERY_SECONDS = 60.0

log = logs.get(__name__)


class Retention:
    """Runs in every process; the lease lets one of them act at a time, and a second one would do no harm."""

    def __init__(self, runs: RetainedRuns, files: ArtifactFiles, lease: Lease, *, days: float) -> None:
        self._runs = runs
        self._files = files
        self._lease = lease
        self._days = timedelta(days=days)

    async def run(self) -> None:
        """Sweep until cancelled."""
        await run_every(EVERY_SECONDS, self._sweep_as_leader, log=log, event="retention_failed")

    async def _sweep_as_leader(self) -> None:
        while await self._lease.acquire() and await self.sweep() == BATCH:
            pass
        await self._lease.release()

    async def sweep(self) -> int:
        """Delete the artifacts of one batch of runs; returns the number of runs.

        The files are deleted first, so that after a crash in between the runs are found again.
        """
        run_ids = await self._runs.ended_before(await self._runs.now() - self._days, BATCH)
        if run_ids:
            deleted = sum([await self._files.delete_all(run_prefix(run_id)) for run_id in run_ids])
            await self._runs.expire(run_ids)
            telemetry.artifacts_expired.inc(deleted)
            log.info("artifacts_expired", runs=len(run_ids), artifacts=deleted)
        return len(run_ids)
