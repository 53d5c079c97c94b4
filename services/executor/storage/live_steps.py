"""The steps of attempts under way, in the documents that the final steps replace."""

from collections.abc import Collection, Sequence

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from services.chassis.mongo import Mongo
from services.executor.ports.runs import LiveAttempt
from services.executor.storage.records import live_document
from services.executor.storage.schema import DUPLICATE_KEY, RUNS, STEPS


class MongoLiveAttempts:
    """The port `LiveAttempts` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._runs = mongo.collection(RUNS)
        self._steps = mongo.collection(STEPS)

    async def write(self, attempts: Sequence[LiveAttempt]) -> None:
        held = await self._held(attempts)
        if current := [attempt for attempt in attempts if attempt.key.run_id in held]:
            await self.update(current)

    async def update(self, attempts: Sequence[LiveAttempt]) -> None:
        """As `write`, when the runs were still held a moment ago.

        After the final steps an update does not match, and the insert that is tried instead fails.
        """
        try:
            await self._steps.bulk_write([_update(attempt) for attempt in attempts], ordered=False)
        except BulkWriteError as error:
            if any(write["code"] != DUPLICATE_KEY for write in error.details["writeErrors"]):
                raise

    async def _held(self, attempts: Sequence[LiveAttempt]) -> Collection[str]:
        """The runs that are still held with these tokens."""
        tokens = {attempt.key.run_id: attempt.token for attempt in attempts}
        leased = {"_id": {"$in": list(tokens)}, "lease": {"$exists": True}}
        documents = await self._runs.find(leased, {"fencing_token": 1}).to_list(None)
        return {run["_id"] for run in documents if run["fencing_token"] == tokens[run["_id"]]}


def _update(attempt: LiveAttempt) -> UpdateOne:
    document = live_document(attempt)
    fields = {name: {"$literal": value} for name, value in document.items() if name not in ("_id", "live")}
    live = {"_id": document["_id"], "live": True}
    return UpdateOne(live, [{"$set": {**fields, "updated_at": "$$NOW"}}], upsert=True)
