"""What can be done with the quarantine of a test."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from services.catalog.model.tests import Quarantine, Test, active_quarantine, grant_quarantine
from services.catalog.ports import Store, Transaction
from services.catalog.usecases.attachments import AttachedTest, load_attachments
from services.catalog.usecases.errors import reports_violations, require_revision
from services.catalog.usecases.keys import caller_name
from services.chassis.clock import Clock


class QuarantineUseCases:
    """Puts tests into quarantine and ends it early; expiry needs no job."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @reports_violations
    async def begin(
        self, test_id: str, reason: str, until: datetime | None, expected: Collection[int] = ()
    ) -> AttachedTest:
        """The test in quarantine until then (None: for the usual time), set by the caller.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: no reason, or an end that is past or too far away.
            Aborted: the revision is not expected.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> Test:
            test = require_revision(await change.tests.get(test_id), "Test", expected)
            granted = grant_quarantine(test.quarantine, now, reason=reason, until=until, by=await caller_name(change))
            return await _write_quarantine(change, test, granted, now)

        [test] = await load_attachments(self._store, [await self._store.change(work)], now)
        return test

    async def end(self, test_id: str, expected: Collection[int] = ()) -> None:
        """End the quarantine; does nothing if there is none or it has expired.

        Raises:
            NotFound: it does not exist.
            Aborted: as in `begin`.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> None:
            test = require_revision(await change.tests.get(test_id), "Test", expected)
            if active_quarantine(test.quarantine, now) is not None:
                await _write_quarantine(change, test, None, now)

        await self._store.change(work)


async def _write_quarantine(change: Transaction, test: Test, quarantine: Quarantine | None, now: datetime) -> Test:
    if quarantine == test.quarantine:
        return test
    after = replace(test, quarantine=quarantine, revision=test.revision + 1, updated_at=now)
    await change.tests.replace(after)
    change.announce(after)
    return after
