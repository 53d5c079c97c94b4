"""What workers report of themselves: one document per process, by MongoDB's clock, kept for a day of silence."""

from collections.abc import Sequence

from services.chassis.mongo import Document, Mongo
from services.executor.model.workers import KnownWorker, WorkerReport
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import WORKERS

MAX_WORKERS = 1000
_FIELDS: Document = {
    "report": 1,
    "started_at": 1,
    "heartbeat_at": 1,
    "silent": {"$lte": ["$alive_until", "$$NOW"]},
}


class MongoWorkers:
    """The port `Workers`. A worker that has been silent for `seconds` is lost."""

    def __init__(self, mongo: Mongo, *, seconds: float) -> None:
        self._workers = mongo.collection(WORKERS)
        self._until = {"$add": ["$$NOW", int(seconds * 1000)]}

    async def report(self, worker: WorkerReport) -> None:
        fields = {
            "report": {"$literal": to_document(worker)},
            "started_at": {"$ifNull": ["$started_at", "$$NOW"]},
            "heartbeat_at": "$$NOW",
            "alive_until": self._until,
        }
        await self._workers.update_one({"_id": worker.id}, [{"$set": fields}], upsert=True)

    async def retire(self, worker_id: str) -> None:
        await self._workers.delete_one({"_id": worker_id})

    async def all(self) -> Sequence[KnownWorker]:
        latest = self._workers.find({}, _FIELDS).sort("alive_until", -1).limit(MAX_WORKERS)
        return [_known_worker(document) for document in await latest.to_list(None)]


def _known_worker(document: Document) -> KnownWorker:
    report = from_document(WorkerReport, document["report"])
    return KnownWorker(report, document["started_at"], document["heartbeat_at"], document["silent"])
