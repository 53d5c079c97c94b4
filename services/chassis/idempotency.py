"""Idempotency keys: a repeated request within 24 hours gets the response of the first one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from uuid import uuid4

from pymongo import ASCENDING, IndexModel, ReturnDocument
from pymongo.errors import PyMongoError

from services.chassis.context import Caller
from services.chassis.errors import AlreadyExists, Unavailable
from services.chassis.ids import derive_ids
from services.chassis.migrations import Migration
from services.chassis.mongo import Document, Mongo

RECORDS = "_idempotency"
KEEP_SECONDS = 24 * 3600
LEASE_SECONDS = 3.0
"""How long the key of a call that died stays claimed; a living call renews its claim three times as often."""
_LEASE_END = {"$add": ["$$NOW", int(LEASE_SECONDS * 1000)]}
_ABANDONED = {"$and": [{"$eq": ["$state", "in_flight"]}, {"$lte": ["$claimed_until", "$$NOW"]}]}
_FREE = {"$or": [{"$eq": [{"$type": "$state"}, "missing"]}, _ABANDONED]}


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The bytes of a response, and whether an earlier call made them."""

    response: bytes
    replayed: bool


class Idempotency:
    """Stores the responses of one service. Failures are not stored: a failed request may be retried with its key."""

    def __init__(self, mongo: Mongo) -> None:
        self._records = mongo.collection(RECORDS)

    async def run_once(
        self, caller: Caller, method: str, request: bytes, work: Callable[[], Awaitable[bytes]]
    ) -> StoredResponse:
        """Do `work` unless there is a response for the caller's key; `request` is the serialised request.

        AlreadyExists (IDEMPOTENCY_KEY_REUSED) for another request; Unavailable (IDEMPOTENCY_KEY_IN_FLIGHT) while the
        first call is in progress, and for up to LEASE_SECONDS after its process died: then a repeat does the work, with
        the same ids.
        """
        key = caller.idempotency_key or ""
        id_ = _digest("\n".join((caller.org_id, method, key)).encode())
        owner = str(uuid4())
        record = await self._claim(id_, owner, _digest(request))
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
        await self._finish(id_, owner, response)
        return StoredResponse(response, replayed=False)

    async def _claim(self, id_: str, owner: str, request_hash: str) -> Document | None:
        """Claim the key: None, or the record of the call that claimed it before."""
        mine = {
            "state": "in_flight",
            "owner": owner,
            "request_hash": request_hash,
            "claimed_until": _LEASE_END,
            "expires_at": {"$add": ["$$NOW", KEEP_SECONDS * 1000]},
        }
        change = {name: {"$cond": [_FREE, value, f"${name}"]} for name, value in mine.items()}
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
        done = {"$set": {"state": "done", "response": response}, "$unset": {"claimed_until": ""}}
        await self._records.update_one({"_id": id_, "owner": owner}, done)


def _stored_response(record: Document, request_hash: str) -> bytes:
    if record["request_hash"] != request_hash:
        raise AlreadyExists("This Idempotency-Key was used for a different request", reason="IDEMPOTENCY_KEY_REUSED")
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


MIGRATION = Migration("0000_idempotency", _make_indexes)
"""The first migration of every service with idempotent methods."""
