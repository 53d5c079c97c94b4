"""Takes runs beyond the retention limits out of the lists, in the background. No figure changes."""

from collections.abc import Iterator, Sequence

from services.chassis import logs, metrics
from services.chassis.clock import Clock
from services.chassis.leases import Lease
from services.chassis.retry import run_every
from services.reporting.model.list_positions import RetentionLimits, expire_runs, list_counters
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ExpirableRuns, ListedTest, Projections, ProjectionTransaction, RowPage

BATCH = 500
SWEEP_INTERVAL_SECONDS = 600.0
LEASE_RENEWAL_SECONDS = 10.0

log = logs.get(__name__)
_expired = metrics.counter("mobiletest_reporting_expired_runs_total", "Runs that retention took out of the lists")


class RetentionSweeper:
    """One per process; the lease lets one of them act at a time, and two at once do no harm."""

    def __init__(
        self,
        runs: ExpirableRuns,
        projections: Projections,
        lease: Lease,
        *,
        limits: RetentionLimits,
        clock: Clock,
        batch: int = BATCH,
    ) -> None:
        self._runs = runs
        self._projections = projections
        self._lease = lease
        self._limits = limits
        self._clock = clock
        self._batch = batch
        self._held_until = float("-inf")

    async def run(self) -> None:
        """Sweep until cancelled."""

        async def work() -> None:
            await self.sweep()
            self._held_until = float("-inf")
            await self._lease.release()

        await run_every(SWEEP_INTERVAL_SECONDS, work, log=log, event="expiring_failed")

    async def sweep(self) -> int:
        """Go through the lists of all tests once, while the lease is held; gives how many runs expired."""
        expired, test = 0, None
        while await self._hold_lease() and (test := await self._runs.test_after(test)):
            expired += sum([await self._expire_from(test, page) for page in self._first_pages()])
        if expired:
            log.info("runs_expired", runs=expired)
        return expired

    def _first_pages(self) -> Iterator[RowPage]:
        """The first page beyond each limit."""
        if self._limits.age is not None:
            yield RowPage(0, self._batch, self._clock.now() - self._limits.age)
        if self._limits.per_test is not None:
            yield RowPage(self._limits.per_test, self._batch)

    async def _expire_from(self, test: ListedTest, page: RowPage) -> int:
        """Expire everything from this page on; runs that have not ended stay and are skipped."""
        expired = skipped = 0
        while await self._hold_lease():
            run_ids = await self._runs.runs(test, RowPage(page.skip + skipped, page.limit, page.before))
            if not run_ids:
                break
            gone = await self._expire(test, run_ids)
            # Expired runs leave the list, so the next page begins behind those that stayed.
            expired, skipped = expired + gone, skipped + len(run_ids) - gone
        return expired

    async def _expire(self, test: ListedTest, run_ids: Sequence[str]) -> int:
        lists: set[str] = set()
        gone = 0

        async def work(transaction: ProjectionTransaction) -> None:
            nonlocal gone
            tables = Tables()
            await transaction.load(tables, RowKeys(runs=run_ids))
            gone = max(gone, expire_runs(tables, run_ids))  # a generation that is being built may not have them yet
            lists.update(name for _, row in tables.runs.rows() for name in list_counters(row))
            await transaction.save(tables)

        await self._projections.transaction(work)
        await self._runs.remove_empty_days(test.org_id, lists)
        _expired.inc(gone)
        return gone

    async def _hold_lease(self) -> bool:
        """Whether this process holds the lease; renewed well before it expires."""
        now = self._clock.monotonic()
        if now >= self._held_until:
            if not await self._lease.acquire():
                return False
            self._held_until = now + LEASE_RENEWAL_SECONDS
        return True
