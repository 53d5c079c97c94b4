"""Leases in MongoDB: one owner at a time, by MongoDB's clock."""

from datetime import UTC, datetime
from typing import Protocol

from pymongo import ReturnDocument

from services.chassis.mongo import Mongo

LEASES = "_leases"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Lease(Protocol):
    """Lets one process at a time do a background job."""

    async def acquire(self) -> bool:
        """Take or renew the lease; False while another owner has it. Call it again well before it expires."""

    async def release(self) -> None:
        """Give up the lease, if this owner has it."""


class MongoLease:
    """The lease `name` for `owner`, an id that is unique to the process."""

    def __init__(self, mongo: Mongo, name: str, owner: str, *, seconds: float) -> None:
        self._leases = mongo.collection(LEASES)
        self._name = name
        self._owner = owner
        self._milliseconds = int(seconds * 1000)

    async def acquire(self) -> bool:
        ours = {"$or": [{"$eq": ["$owner", self._owner]}, {"$lte": [{"$ifNull": ["$expires_at", _LONG_AGO]}, "$$NOW"]}]}
        until = {"$add": ["$$NOW", self._milliseconds]}
        change = {
            "owner": {"$cond": [ours, self._owner, "$owner"]},
            "expires_at": {"$cond": [ours, until, "$expires_at"]},
        }
        lease = await self._leases.find_one_and_update(
            {"_id": self._name}, [{"$set": change}], upsert=True, return_document=ReturnDocument.AFTER
        )
        return bool(lease["owner"] == self._owner)

    async def release(self) -> None:
        await self._leases.delete_one({"_id": self._name, "owner": self._owner})
