"""Idempotency keys: a repeated request within 24 hours gets the response of the first one.

An organisation has a limited number of records, and of bytes in their responses, in each service.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from uuid import uuid4

from pymongo import ASCENDING, IndexModel, ReturnDocument
from pymongo.errors import PyMongoError

from services.chassis.clock import Clock, SystemClock
from services.chassis.context import Caller
from services.chassis.errors import Unavailable
from services.chassis.ids import derive_ids, idempotency_key_reused
from services.chassis.limit_refusals import limit_reached
from services.chassis.migrations import Migration
from services.chassis.mongo import Document, Mongo
from services.chassis.org_counts import Numbers, OrgCounts

RECORDS = "_idempotency"
# The index of an organisation's records.
OF_ORGANISATION = "of_organisation"
KEEP_SECONDS = 24 * 3600
# What one organisation may have of records in each service, and of bytes in their responses.
MAX_RECORDS = 100_000
MAX_BYTES = 256 * 1024 * 1024
FRESH_SECONDS = 10.0
RECOUNT_SECONDS = 2.0
ADVICE = (
    "the responses to requests with an Idempotency-Key are kept for a day; send this one without the header, or wait "
    "until earlier ones have expired"
)
# How long the key of a call that died stays claimed; a living call renews its claim three times as often.
LEASE_SECONDS = 3.0
# How many seconds after its end MongoDB may take to delete a record.
EXPIRY_PAUSE = 60
_LEASE_END = {"$add": ["$$NOW", int(LEASE_SECONDS * 1000)]}
_ABANDONED = {"$and": [{"$eq": ["$state", "in_flight"]}, {"$lte": ["$claimed_until", "$$NOW"]}]}
_FREE = {"$or": [{"$eq": [{"$type": "$state"}, "missing"]}, _ABANDONED]}


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The bytes of a response, and whether an earlier call made them."""

    response: bytes
    replayed: bool


@dataclass(frozen=True, slots=True)
class RecordLimits:
    """How many records, and bytes in their responses, an organisation may have."""

    records: int = MAX_RECORDS
    bytes: int = MAX_BYTES


class RecordQuota:
    """Counts the records of an organisation every ten seconds, and before it refuses one more.

    So the limits may be exceeded by what other processes add within ten seconds.
    """

    def __init__(self, mongo: Mongo, limits: RecordLimits, clock: Clock) -> None:
        self._mongo = mongo
        self._limits = {"idempotency_records": limits.records, "idempotency_bytes": limits.bytes}
        self._counts = OrgCounts(self._count, FRESH_SECONDS, clock)

    async def take(self, org_id: str, id_: str) -> None:
        """Take room for the record, unless it exists already.

        Raises:
            ResourceExhausted: there is none (LIMIT_REACHED).
        """
        if self._reached(await self._counts.get(org_id)):
            kept = await self._counts.get(org_id, RECOUNT_SECONDS)
            reached = self._reached(kept)
            if reached and await self._mongo.collection(RECORDS).find_one({"_id": id_}, {"_id": 1}) is None:
                raise limit_reached(reached, self._limits[reached], ADVICE, retry_after=kept["expires_in"])
        self._counts.add(org_id, {"idempotency_records": 1})

    def add_bytes(self, org_id: str, size: int) -> None:
        """Count the response of a record for which room was taken."""
        self._counts.add(org_id, {"idempotency_bytes": size})

    def _reached(self, kept: Numbers) -> str | None:
        """The limit that allows no further record."""
        return next((name for name, limit in self._limits.items() if kept[name] >= limit), None)

    async def _count(self, org_id: str) -> Numbers:
        """Read from the index alone. `expires_in`: seconds until the first of them expires."""
        sums = {
            "_id": None,
            "idempotency_records": {"$sum": 1},
            "idempotency_bytes": {"$sum": "$bytes"},
            "first": {"$min": "$expires_at"},
        }
        left: Document = {"$set": {"milliseconds": {"$subtract": ["$first", "$$NOW"]}}}
        totals = await self._mongo.aggregate(RECORDS, [{"$match": {"org_id": org_id}}, {"$group": sums}, left])
        if not totals:
            return dict.fromkeys(self._limits, 0) | {"expires_in": KEEP_SECONDS}
        numbers = {name: totals[0][name] for name in self._limits}
        return numbers | {"expires_in": totals[0]["milliseconds"] // 1000 + EXPIRY_PAUSE}


class Idempotency:
    """Stores the responses of one service. Failures are not stored: a failed request may be retried with its key."""

    def __init__(self, mongo: Mongo, limits: RecordLimits | None = None, clock: Clock | None = None) -> None:
        self._records = mongo.collection(RECORDS)
        self._quota = RecordQuota(mongo, limits or RecordLimits(), clock or SystemClock())

    async def run_once(
        self, caller: Caller, method: str, request: bytes, work: Callable[[], Awaitable[bytes]]
    ) -> StoredResponse:
        """Do `work` unless there is a response for the caller's key; `request` is the serialised request.

        Raises:
            ResourceExhausted: for a new key when the organisation has too many records (LIMIT_REACHED).
            AlreadyExists: for another request (IDEMPOTENCY_KEY_REUSED).
            Unavailable: while the first call is in progress, and for up to LEASE_SECONDS after its process died: then a
                repeat does the work, with the same ids (IDEMPOTENCY_KEY_IN_FLIGHT).
        """
        key = caller.idempotency_key or ""
        id_ = _digest("\n".join((caller.org_id, method, key)).encode())
        owner = str(uuid4())
        await self._quota.take(caller.org_id, id_)
        record = await self._claim(id_, owner, caller.org_id, _digest(request))
        if record is not None:
            return StoredResponse(_stored_response(record, _digest(request)), replayed=True)
        try:
            with derive_ids(caller.org_id, method, key):
                async with self._renewed(id_, owner):
                    response = await work()
        except BaseException:
            with suppress(PyMongoError):  # then the claim expires
                await self._records.delete_one({"_id": id_, "owner": owner})
            raise
        # Not in the block above: if this write fails, the work is done, so the key stays claimed until its lease ends.
        await self._finish(id_, owner, response)
        self._quota.add_bytes(caller.org_id, len(response))
        return StoredResponse(response, replayed=False)

    async def _claim(self, id_: str, owner: str, org_id: str, request_hash: str) -> Document | None:
        """Claim the key: None, or the record of the call that claimed it before."""
        mine = {
            "state": "in_flight",
            "owner": owner,
            "org_id": org_id,
            "request_hash": request_hash,
            "claimed_until": _LEASE_END,
            "expires_at": {"$add": ["$$NOW", KEEP_SECONDS * 1000]},
        }
        # In one update by MongoDB's clock: of calls at the same time exactly one becomes the owner.
        change = {name: {"$cond": [_FREE, value, f"${name}"]} for name, value in mine.items()}
        # How long the claim still lasts is computed from this, so that no process's clock matters.
        seen: Document = {"seen_at": "$$NOW"}
        record: Document = await self._records.find_one_and_update(
            {"_id": id_}, [{"$set": change | seen}], upsert=True, return_document=ReturnDocument.AFTER
        )
        return None if record["owner"] == owner else record

    @asynccontextmanager
    async def _renewed(self, id_: str, owner: str) -> AsyncIterator[None]:
        """Renew the claim while the block runs; without MongoDB it expires."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(LEASE_SECONDS / 3)
                with suppress(PyMongoError):
                    await self._records.update_one(
                        {"_id": id_, "owner": owner}, [{"$set": {"claimed_until": _LEASE_END}}]
                    )

        renewal = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewal.cancel()

    async def _finish(self, id_: str, owner: str, response: bytes) -> None:
        done = {
            "$set": {"state": "done", "response": response, "bytes": len(response)},
            "$unset": {"claimed_until": ""},
        }
        await self._records.update_one({"_id": id_, "owner": owner}, done)


def _stored_response(record: Document, request_hash: str) -> bytes:
    if record["request_hash"] != request_hash:
        raise idempotency_key_reused()
    if record["state"] != "done":
        left = (record["claimed_until"] - record["seen_at"]).total_seconds()
        raise Unavailable(
            "The first request with this Idempotency-Key is still in progress: repeat this one later",
            reason="IDEMPOTENCY_KEY_IN_FLIGHT",
            retry_after=max(1, ceil(left)),
        )
    return bytes(record["response"])


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


async def _make_indexes(mongo: Mongo) -> None:
    expiry = IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0)
    await mongo.collection(RECORDS).create_indexes([expiry])


async def make_quota_index(mongo: Mongo) -> None:
    """The index that a service's records are counted with, made by a migration of its own in each service."""
    keys = [("org_id", ASCENDING), ("expires_at", ASCENDING), ("bytes", ASCENDING)]
    of_organisation = IndexModel(keys, name=OF_ORGANISATION, partialFilterExpression={"org_id": {"$exists": True}})
    await mongo.collection(RECORDS).create_indexes([of_organisation])


# The first migration of every service with idempotent methods.
MIGRATION = Migration("0000_idempotency", _make_indexes)
