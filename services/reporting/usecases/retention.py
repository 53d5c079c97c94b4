"""Takes runs beyond the bounds of retention out of the lists, in the background. No figure changes by it."""

import asyncio
from collections.abc import Iterator, Sequence

from services.chassis import logs, metrics
from services.chassis.clock import Clock
from services.chassis.consumer import is_transient
from services.reporting.model.list_positions import list_counters
from services.reporting.model.retention import RetentionLimits, expire_runs
from services.reporting.model.tables import Tables
from services.reporting.ports import ExpirableRuns, Lease, ListedTest, Page, Projections, ProjectionTransaction, RowKeys

BATCH = 500
EVERY_SECONDS = 600.0
RENEWED_SECONDS = 10.0

log = logs.get(__name__)
_expired = metrics.counter("mobiletest_reporting_expired_runs_total", "Runs that retention took out of the lists")


class RetentionSweeper:
    """One per process; `turn`, a lease, lets one of them act at a time, and two at once do no harm."""

    def __init__(
        self, listed: ExpirableRuns, folds: Projections, turn: Lease, *, bounds: RetentionLimits, clock: Clock
    ) -> None:
        self._listed = listed
        self._folds = folds
        self._turn = turn
        self._bounds = bounds
        self._clock = clock
        self._ours_until = float("-inf")

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            try:
                await self.sweep()
                await self._give_up()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("expiring_failed", error=repr(error))
            await asyncio.sleep(EVERY_SECONDS)

    async def sweep(self) -> int:
        """Look at the lists of all tests once, while it is our turn; how many runs left them."""
        expired, test = 0, None
        while await self._is_ours() and (test := await self._listed.test_after(test)):
            expired += sum([await self._expire_from(test, page) for page in self._pages()])
        if expired:
            log.info("runs_expired", runs=expired)
        return expired

    def _pages(self) -> Iterator[Page]:
        """What is beyond each bound: the first page of it."""
        if self._bounds.age is not None:
            yield Page(0, BATCH, self._clock.now() - self._bounds.age)
        if self._bounds.per_test is not None:
            yield Page(self._bounds.per_test, BATCH)

    async def _expire_from(self, test: ListedTest, page: Page) -> int:
        """Everything from this page on; runs that have not ended stay and are stepped over."""
        expired = stepped_over = 0
        while await self._is_ours():
            run_ids = await self._listed.runs(test, Page(page.skip + stepped_over, page.limit, page.before))
            if not run_ids:
                break
            gone = await self._expire(test, run_ids)
            expired, stepped_over = expired + gone, stepped_over + len(run_ids) - gone
        return expired

    async def _expire(self, test: ListedTest, run_ids: Sequence[str]) -> int:
        counted: set[str] = set()
        gone = 0

        async def work(transaction: ProjectionTransaction) -> None:
            nonlocal gone
            tables = Tables()
            await transaction.load(tables, RowKeys(runs=run_ids))
            gone = max(gone, expire_runs(tables, run_ids))  # what is being rebuilt may not have them yet
            counted.update(name for _, row in tables.runs.rows() for name in list_counters(row))
            await transaction.save(tables)

        await self._folds.transaction(work)
        await self._listed.tidy(test.org_id, counted)
        _expired.inc(gone)
        return gone

    async def _is_ours(self) -> bool:
        """Whether it is our turn, asked again well before that runs out."""
        now = self._clock.monotonic()
        if now >= self._ours_until:
            if not await self._turn.acquire():
                return False
            self._ours_until = now + RENEWED_SECONDS
        return True

    async def _give_up(self) -> None:
        self._ours_until = float("-inf")
        await self._turn.release()
