"""Deletes the artifacts of runs that ended longer ago than the retention period, and the oldest ones of an organisation
that has more than its limit `evidence_bytes`. History and statistics stay. Counts the stored runs again after upgrades.
"""

from collections.abc import Sequence
from datetime import timedelta

from services.chassis import logs
from services.chassis.leases import Lease
from services.chassis.limit_refusals import refusals
from services.chassis.retry import log_transient, run_every
from services.executor import telemetry
from services.executor.artifacts import run_prefix
from services.executor.ports.organisation_limits import ConfirmedLimits
from services.executor.ports.runs import ArtifactFiles, CountedRuns, RetainedRuns

BATCH = 50
EVERY_SECONDS = 60.0
RECOUNT_SECONDS = 600.0


log = logs.get(__name__)


class Retention:
    """Runs in every process; the lease lets one of them act at a time, and a second one would do no harm."""

    def __init__(
        self, runs: RetainedRuns, files: ArtifactFiles, lease: Lease, limits: ConfirmedLimits, *, days: float
    ) -> None:
        """`days` is the retention period; 0: it never ends."""
        self._runs = runs
        self._files = files
        self._lease = lease
        self._limits = limits
        self._days = timedelta(days=days)
        # Organisations that may have more than their limit, in the order in which they are looked at; None: any.
        self._grown: dict[str, None] | None = None

    async def run(self) -> None:
        """Sweep until cancelled."""
        await run_every(EVERY_SECONDS, self._sweep_as_leader, log=log, event="retention_failed")

    async def _sweep_as_leader(self) -> None:
        while await self._lease.acquire() and await self.sweep():
            pass
        await self._lease.release()

    async def sweep(self) -> bool:
        """Delete a batch of what is old, count a part of what is new, and delete a batch of what is too much for each
        organisation. Returns whether there may be more to do.
        """
        more = [await self._delete_old(), await self._count(), await self._delete_excess()]
        return any(more)

    async def _delete_old(self) -> bool:
        if not self._days:
            return False
        before = await self._runs.now() - self._days
        run_ids = await self._runs.ended_before(before, BATCH)
        await self._delete(run_ids)
        if len(run_ids) < BATCH:
            await self._runs.forget_days_before(before.date())
        return len(run_ids) == BATCH

    async def _count(self) -> bool:
        if self._grown is None:
            self._grown = dict.fromkeys(await self._runs.organisations())
        counted = await self._runs.count()
        self._grown |= dict.fromkeys(counted.org_ids)
        return not counted.complete

    async def _delete_excess(self) -> bool:
        """After a failure the others wait for the next sweep: most likely the catalog or the store is away."""
        grown, deleted = self._grown or {}, False
        for org_id in list(grown):
            del grown[org_id]
            failed = True
            with log_transient(log, "evidence_limit_postponed", org_id=org_id):
                if await self._delete_excess_of(org_id):
                    grown[org_id], deleted = None, True
                failed = False
            if failed:
                grown[org_id] = None
                break
        return deleted

    async def _delete_excess_of(self, org_id: str) -> bool:
        """Whether a batch was deleted, so that there may be more."""
        limit = (await self._limits.confirmed_limits(org_id)).evidence_bytes
        excess = 0 if limit is None else await self._runs.used_bytes(org_id) - limit
        run_ids = await self._runs.oldest(org_id, excess, BATCH) if excess > 0 else []
        if excess > 0 and not run_ids:
            log.error("evidence_miscounted", org_id=org_id, excess=excess)
            await self._runs.forget(org_id)
        if not run_ids:
            return False
        await self._delete(run_ids)
        refusals.labels("evidence_bytes").inc(len(run_ids))
        log.info("evidence_limit_reached", org_id=org_id, limit=limit, runs=len(run_ids))
        return True

    async def _delete(self, run_ids: Sequence[str]) -> None:
        """The files are deleted first, so that after a crash in between the runs are found again."""
        if run_ids:
            deleted = sum([await self._files.delete_all(run_prefix(run_id)) for run_id in run_ids])
            await self._runs.expire(run_ids)
            telemetry.artifacts_expired.inc(deleted)
            log.info("artifacts_expired", runs=len(run_ids), artifacts=deleted)


class RunRecount:
    """Counts the runs of all organisations again when an upgrade has ended: older processes do not count theirs.

    Runs in every process that serves the API; a lease lets one act at a time, and a second one would do no harm.
    """

    def __init__(self, counts: CountedRuns, lease: Lease) -> None:
        self._counts = counts
        self._lease = lease

    async def run(self) -> None:
        """Look whether it is time until cancelled."""
        await run_every(RECOUNT_SECONDS, self._recount_as_leader, log=log, event="run_recount_failed")

    async def _recount_as_leader(self) -> None:
        if await self._lease.acquire():
            corrected = await self._counts.recount_if_due()
            if corrected is not None:
                log.info("runs_recounted", corrected=corrected)
            await self._lease.release()
