"""Marks artifacts of runs as expired or missing, across organisations."""

from collections.abc import Sequence
from datetime import datetime

from services.executor.artifacts import ArtifactKey
from services.executor.model.attempts import ArtifactGone
from services.executor.storage.schema import KEPT_SINCE, RUNS
from services.executor.storage.transactions import ExecutionTransactions


class MongoRetainedRuns:
    """The ports `RetainedRuns` and `MissingArtifacts` on MongoDB: single writes that do not conflict with others."""

    def __init__(self, transactions: ExecutionTransactions) -> None:
        self._transactions = transactions
        self._runs = transactions.mongo.collection(RUNS)

    async def now(self) -> datetime:
        return await self._transactions.now()

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        found = self._runs.find({KEPT_SINCE: {"$lt": moment}}, {"_id": 1}).sort(KEPT_SINCE, 1).limit(limit)
        return [document["_id"] for document in await found.to_list(None)]

    async def expire(self, run_ids: Sequence[str]) -> None:
        gone = {"attempts.$[].artifacts.$[].gone": ArtifactGone.EXPIRED.value}
        await self._runs.update_many({"_id": {"$in": list(run_ids)}}, {"$set": gone, "$unset": {KEPT_SINCE: ""}})

    async def mark_missing(self, key: ArtifactKey) -> None:
        """Does nothing when the run lists no such artifact: its attempt may have ended without reporting it."""
        await self._runs.update_one(
            {"_id": key.run_id},
            {"$set": {"attempts.$[attempt].artifacts.$[artifact].gone": ArtifactGone.MISSING.value}},
            array_filters=[{"attempt.number": key.attempt}, {"artifact.name": key.name}],
        )
