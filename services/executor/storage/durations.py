"""How long runs take: per organisation, test, platform and app, remembered for the order of later runs.

Noted in memory as verdicts are committed, and written in bulk soon after, so that a verdict costs no write more. What a
killed process had noted is lost, which costs a little of the order and nothing else.
"""

import asyncio
from collections.abc import Sequence

from pymongo import UpdateOne

from services.chassis import logs
from services.chassis.mongo import Mongo
from services.chassis.retry import is_transient
from services.executor.model.changes import Change
from services.executor.model.claim_order import WEIGHT_OF_NEWEST
from services.executor.model.runs import RunTarget
from services.executor.model.states import Status
from services.executor.storage.schema import DURATIONS

FLUSH_SECONDS = 1.0
NOTED_LIMIT = 10_000

log = logs.get(__name__)


class RunDurations:
    """What is remembered, and what of it is still to be written."""

    def __init__(self, mongo: Mongo) -> None:
        self._durations = mongo.collection(DURATIONS)
        self._noted: list[tuple[str, str, float]] = []

    def note(self, change: Change) -> None:
        """Note the runs that a change gave a verdict."""
        for run in change.runs:
            if run.status is Status.COMPLETED and len(self._noted) < NOTED_LIMIT:
                self._noted.append((_key(run.org_id, run.target), run.org_id, run.busy_seconds))

    async def expected(self, org_id: str, targets: Sequence[RunTarget]) -> list[float | None]:
        """The seconds that are remembered for each; None where there are none."""
        keys = [_key(org_id, target) for target in targets]
        found = await self._durations.find({"_id": {"$in": keys}}, {"seconds": 1}).to_list(None)
        seconds: dict[str, float] = {document["_id"]: document["seconds"] for document in found}
        return [seconds.get(key) for key in keys]

    async def flush(self) -> None:
        """Write what was noted. What cannot be written is forgotten."""
        noted, self._noted = self._noted, []
        if noted:
            await self._durations.bulk_write([_folded(*row) for row in noted])

    async def run(self) -> None:
        """Write every second until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(FLUSH_SECONDS)
                await self._flush()
        finally:
            await self._flush()

    async def _flush(self) -> None:
        try:
            await self.flush()
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("durations_not_kept", error=repr(error))


def _key(org_id: str, target: RunTarget) -> str:
    return f"{org_id}/{target.test_id}/{target.platform}/{target.app_id}"


def _folded(key: str, org_id: str, seconds: float) -> UpdateOne:
    """`model.ordering.remembered` as an update."""
    before = {"$ifNull": ["$seconds", seconds]}
    after = {"$add": [before, {"$multiply": [WEIGHT_OF_NEWEST, {"$subtract": [seconds, before]}]}]}
    return UpdateOne({"_id": key}, [{"$set": {"org_id": org_id, "seconds": after, "told_at": "$$NOW"}}], upsert=True)
