"""What can be done with what people write about groups of failures."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from services.catalog.model.failures import (
    TRIAGES_LIMIT,
    FailureTriage,
    change_triage,
    validate_changes,
    validate_fingerprint,
)
from services.catalog.ports import Records, Store, Transaction
from services.catalog.usecases.apps import write_app_revision
from services.catalog.usecases.errors import reports_violations, require, require_revision
from services.catalog.usecases.keys import caller_name
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.limit_refusals import limit_reached


class FailureTriageUseCases:
    """Reads and writes what is known about failures, by app and fingerprint."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def get(self, app_id: str, fingerprint: str) -> FailureTriage:
        """What was written; of a group of which nobody has written anything, that it is open.

        Raises:
            NotFound: no such app.
        """
        require(await self._store.apps.get(app_id), "App")
        return await _load(self._store, app_id, fingerprint)

    @reports_violations
    async def update(
        self, app_id: str, fingerprint: str, changes: Mapping[str, Any], expected: Collection[int] = ()
    ) -> FailureTriage:
        """What is written after the changes. None removes; the group need not have occurred.

        Processes may exceed the limit by what others write in the same moment.

        Raises:
            NotFound: no such app.
            InvalidArgument: a value cannot be written.
            PermissionDenied: the organisation has as many as it may.
            Aborted: the revision is not expected.
        """
        validate_fingerprint(fingerprint)
        values, now = validate_changes(changes), self._clock.now()

        async def work(change: Transaction) -> FailureTriage:
            app = require(await change.apps.get(app_id), "App")
            before = await _load(change, app_id, fingerprint)
            after = change_triage(require_revision(before, "Failure", expected), values)
            if after == before:
                return before
            if before.empty and not after.empty and await change.failure_triages.count() >= TRIAGES_LIMIT:
                advice = "remove state, note, ticket and owner of failures that you do not need"
                raise limit_reached("failure_triages", TRIAGES_LIMIT, advice)
            by = await caller_name(change)
            written = replace(after, updated_by=by, updated_at=now, revision=before.revision + 1)
            await change.failure_triages.put(written)
            change.announce(written)
            await write_app_revision(change, app, now)
            return written

        return await self._store.change(work, of=app_id)


async def _load(records: Records, app_id: str, fingerprint: str) -> FailureTriage:
    known = await records.failure_triages.get(app_id, fingerprint)
    return known or FailureTriage(current().org_id, app_id, fingerprint)
