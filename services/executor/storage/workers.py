"""What workers keep in MongoDB, by its clock: reports of themselves, leases of device slots, and devices to clean.

There is a report per process, kept for a day of silence, a document with the leases per pool, and one per device
to clean, so that their number is bounded by that of the devices.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pymongo import ReturnDocument

from mobiletest_automation.devices.port import MarksUnavailable
from mobiletest_automation.model.devices import UncleanDevice
from services.chassis.errors import Unavailable
from services.chassis.mongo import Document, Mongo
from services.chassis.mongo_errors import as_unavailable
from services.executor.model.workers import KnownWorker, WorkerReport
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import UNCLEAN_DEVICES, WORKERS

MAX_WORKERS = 1000
_FIELDS: Document = {
    "report": 1,
    "started_at": 1,
    "heartbeat_at": 1,
    "silent": {"$lte": ["$alive_until", "$$NOW"]},
}
SLOTS = "device_slots"


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


class MongoSlotLeases:
    """The port `SlotLeases`. What is not renewed for `seconds` is free."""

    def __init__(self, mongo: Mongo, worker: str, *, seconds: float) -> None:
        """`worker`: an id that is unique to the process, so that one that restarts does not free what it left."""
        self._pools = mongo.collection(SLOTS)
        self._worker = worker
        self._until = {"$add": ["$$NOW", int(seconds * 1000)]}

    async def take(self, pool: str, slots: int) -> int | None:
        unused = {"$setDifference": [{"$range": [1, slots + 1]}, "$leases.slot"]}
        lease = {"worker": self._worker, "slot": "$found", "until": self._until}
        added = {"$concatArrays": ["$leases", {"$cond": [{"$gt": ["$found", 0]}, [lease], []]}]}
        document = await self._change(
            pool, {"leases": _live()}, {"found": {"$ifNull": [{"$min": unused}, 0]}}, {"leases": added}
        )
        return document["found"] or None

    async def keep(self, held: Mapping[str, Collection[int]]) -> None:
        await asyncio.gather(*(self._keep(pool, slots) for pool, slots in held.items()))

    async def count_others(self, pools: Collection[str]) -> Mapping[str, int]:
        others = {"$size": {"$filter": {"input": _live(), "cond": {"$ne": ["$$this.worker", self._worker]}}}}
        rows = await self._pools.find({"_id": {"$in": list(pools)}}, {"others": others}).to_list(None)
        return {row["_id"]: row["others"] for row in rows}

    async def _keep(self, pool: str, slots: Collection[int]) -> None:
        others = {"$filter": {"input": _live(), "cond": {"$ne": ["$$this.worker", self._worker]}}}
        own = [{"worker": self._worker, "slot": slot, "until": self._until} for slot in slots]
        await self._change(pool, {"leases": {"$concatArrays": [others, own]}})

    async def _change(self, pool: str, *stages: Document) -> Document:
        pipeline = [{"$set": stage} for stage in stages]
        document: Document = await self._pools.find_one_and_update(
            {"_id": pool}, pipeline, upsert=True, return_document=ReturnDocument.AFTER
        )
        return document


def _live() -> dict[str, Any]:
    leases = {"$ifNull": ["$leases", []]}
    return {"$filter": {"input": leases, "cond": {"$gt": ["$$this.until", "$$NOW"]}}}


class MongoUncleanDevices:
    """The port `UncleanDevices` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._devices = mongo.collection(UNCLEAN_DEVICES)

    async def mark(self, device: UncleanDevice) -> None:
        key = _key(device.hub, device.device)
        document = {**to_document(device), "apps": sorted(device.apps)}
        if device.installed_before is not None:
            document["installed_before"] = sorted(device.installed_before)
        with _marks():
            await self._devices.replace_one({"_id": key}, document, upsert=True)

    async def find(self, hub: str, device: str) -> UncleanDevice | None:
        return await self._find({"_id": _key(hub, device)})

    async def find_by_session(self, hub: str, session: str) -> UncleanDevice | None:
        return await self._find({"hub": hub, "session": session})

    async def _find(self, query: dict[str, str]) -> UncleanDevice | None:
        with _marks():
            document = await self._devices.find_one(query)
        return from_document(UncleanDevice, document) if document is not None else None

    async def forget(self, device: UncleanDevice) -> None:
        with _marks():
            await self._devices.delete_one({"_id": _key(device.hub, device.device), "session": device.session})


@contextmanager
def _marks() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(error, Unavailable) or as_unavailable(error) is not None:
            raise MarksUnavailable from error
        raise


def _key(hub: str, device: str) -> str:
    return f"{hub} {device}"
