"""Deletes the baselines of tests that the catalog no longer has.

The catalog is asked about all tests that have baselines, again and again, instead of following its events: nothing has
to be remembered over a crash, and a picture that was accepted while its test was being deleted is found as well.
"""

from collections.abc import Sequence
from itertools import groupby

from services.chassis import logs
from services.chassis.leases import Lease
from services.chassis.retry import run_every
from services.executor.ports.baselines import BaselinesOfTests, ExistingTests, TestKey

BATCH = 500
EVERY_SECONDS = 600.0

log = logs.get(__name__)


class DeletedTests:
    """Runs in every process that serves the API; a lease lets one act at a time, and a second one would do no harm."""

    def __init__(self, baselines: BaselinesOfTests, catalog: ExistingTests, lease: Lease) -> None:
        self._baselines = baselines
        self._catalog = catalog
        self._lease = lease

    async def run(self) -> None:
        """Sweep until cancelled."""
        await run_every(EVERY_SECONDS, self._sweep_as_leader, log=log, event="deleted_tests_failed")

    async def _sweep_as_leader(self) -> None:
        after: TestKey | None = None
        while await self._lease.acquire():
            after = await self.sweep(after)
            if after is None:
                await self._lease.release()
                return

    async def sweep(self, after: TestKey | None = None) -> TestKey | None:
        """Delete what the deleted ones among the next tests have; the last of these tests, None after all of them."""
        tests = await self._baselines.tests(after, BATCH)
        for org_id, group in groupby(tests, key=lambda test: test.org_id):
            await self._delete_unknown(org_id, list(group))
        return tests[-1] if len(tests) == BATCH else None

    async def _delete_unknown(self, org_id: str, tests: Sequence[TestKey]) -> None:
        existing = await self._catalog.existing_tests(org_id, [test.test_id for test in tests])
        for test in tests:
            if test.test_id not in existing:
                deleted = await self._baselines.delete_of_test(test)
                log.info("baselines_deleted", test_id=test.test_id, baselines=deleted)
