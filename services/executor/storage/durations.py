"""How long runs take, by organisation, test, platform and app; used to order later runs.

Durations are buffered in memory when verdicts are committed and written in bulk soon after, so that a verdict costs no
additional write. A killed process loses its buffer, which only makes the order slightly worse.
"""

import asyncio
from collections.abc import Sequence

from pymongo import UpdateOne

from mobiletest_automation.model.states import Status
from services.chassis import logs
from services.chassis.mongo import Mongo
from services.chassis.retry import log_transient
from services.executor.model.changes import Change
from services.executor.model.claim_order import WEIGHT_OF_NEWEST
from services.executor.model.runs import RunTarget
from services.executor.storage.schema import DURATIONS

FLUSH_SECONDS = 1.0
BUFFER_LIMIT = 10_000

log = logs.get(__name__)


class RunDurations:
    """Exponentially weighted durations."""

    def __init__(self, mongo: Mongo) -> None:
        self._durations = mongo.collection(DURATIONS)
        self._buffer: list[tuple[str, str, float]] = []

    def record(self, change: Change) -> None:
        """Buffer the durations of runs that got a verdict in this change."""
        for run in change.runs:
            if run.status is Status.COMPLETED and len(self._buffer) < BUFFER_LIMIT:
                self._buffer.append((_key(run.org_id, run.target), run.org_id, run.busy_seconds))

    async def expected(self, org_id: str, targets: Sequence[RunTarget]) -> list[float | None]:
        """The expected seconds for each target; None where no run has finished yet."""
        keys = [_key(org_id, target) for target in targets]
        documents = await self._durations.find({"_id": {"$in": keys}}, {"seconds": 1}).to_list(None)
        seconds: dict[str, float] = {document["_id"]: document["seconds"] for document in documents}
        return [seconds.get(key) for key in keys]

    async def flush(self) -> None:
        """Write the buffer. What cannot be written is dropped."""
        buffered, self._buffer = self._buffer, []
        if buffered:
            await self._durations.bulk_write([_smoothing_update(*row) for row in buffered])

    async def run(self) -> None:
        """Write every second until cancelled, and once more at the end."""
        try:
            while True:
                await asyncio.sleep(FLUSH_SECONDS)
                await self._flush()
        finally:
            await self._flush()

    async def _flush(self) -> None:
        with log_transient(log, "durations_not_kept"):
            await self.flush()


def _key(org_id: str, target: RunTarget) -> str:
    return f"{org_id}/{target.test_id}/{target.platform}/{target.app_id}"


def _smoothing_update(key: str, org_id: str, seconds: float) -> UpdateOne:
    """`model.claim_order.smoothed_duration` as an update."""
    before = {"$ifNull": ["$seconds", seconds]}
    after = {"$add": [before, {"$multiply": [WEIGHT_OF_NEWEST, {"$subtract": [seconds, before]}]}]}
    return UpdateOne({"_id": key}, [{"$set": {"org_id": org_id, "seconds": after, "updated_at": "$$NOW"}}], upsert=True)
