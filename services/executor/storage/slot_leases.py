"""Leases of device slots in MongoDB: one document per pool, by MongoDB's clock."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

from pymongo import ReturnDocument

from services.chassis.mongo import Document, Mongo

SLOTS = "device_slots"


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
