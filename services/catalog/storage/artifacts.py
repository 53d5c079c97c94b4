"""Artifacts that are, or are about to be, in the object store: one document per organisation and content.

Those that no build and no test uses are removed a day after they were last used. How many bytes an organisation stores
is summed when an upload begins, so no counter can drift; uploads under way count as reservations, or whole if they are
in parts.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from pymongo.errors import DuplicateKeyError

from services.catalog.model.builds import artifact_key
from services.catalog.model.organisation_limits import ArtifactBytes
from services.catalog.storage.documents import IS_LIVE, id_condition
from services.catalog.storage.part_uploads import PART_UPLOADS
from services.chassis import context, logs
from services.chassis.clock import Clock
from services.chassis.errors import Aborted
from services.chassis.mongo import Document, Mongo, below
from services.chassis.object_store import ObjectStore
from services.chassis.org_collection import OrgCollection
from services.chassis.retry import run_every

ARTIFACTS = "artifacts"
RESERVATIONS = "upload_reservations"
# A reservation that is not renewed for so long belongs to a process that was killed.
RESERVATION_LIFETIME = timedelta(minutes=10)
STORED, EXPECTED, DELETING = "stored", "expected", "deleting"
# A deletion that takes longer is treated as abandoned by a killed process.
DELETION_LIMIT = timedelta(minutes=1)
# Long enough for every upload under way, and for every run that was planned on what has been deleted since.
KEPT_UNUSED = timedelta(days=1)
EVERY_SECONDS = 600.0
DELETION_SECONDS = 30.0

log = logs.get(__name__)


class MongoArtifacts:
    """The artifacts of the caller's organisation."""

    def __init__(self, rows: OrgCollection, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def expect(self, sha256: str, size: int) -> bool:
        now = self._clock.now()
        first = {"state": EXPECTED, "size": size, "sha256": sha256, "uses": 0}
        staying = {"_id": _own_id(sha256), "state": {"$ne": DELETING}}
        try:
            await self._rows.update_one(staying, {"$set": {"touched_at": now}, "$setOnInsert": first}, upsert=True)
        except DuplicateKeyError:  # another upload of the same file came first, or the file is being removed
            if not await self._rows.update_one(staying, {"$set": {"touched_at": now}}):
                await self._reclaim(sha256, now)
        document = await self._rows.find_one({"_id": _own_id(sha256)})
        return document is not None and document["state"] == STORED

    async def stored(self, sha256: str) -> None:
        await self._rows.update_one({"_id": _own_id(sha256)}, {"$set": {"state": STORED}})

    async def use(self, sha256: str, change: int) -> None:
        touched = {"$inc": {"uses": change}, "$set": {"touched_at": self._clock.now()}}
        await self._rows.update_one({"_id": _own_id(sha256)}, touched)

    async def release(self, sha256s: Iterable[str]) -> None:
        released: dict[int, list[str]] = {}
        for sha256, mentions in Counter(sha256s).items():
            released.setdefault(mentions, []).append(_own_id(sha256))
        for mentions, ids in released.items():
            touched = {"$inc": {"uses": -mentions}, "$set": {"touched_at": self._clock.now()}}
            await self._rows.update_many(id_condition(ids), touched)

    async def _reclaim(self, sha256: str, now: datetime) -> None:
        abandoned = {"_id": _own_id(sha256), "state": DELETING, "touched_at": {"$lt": now - DELETION_LIMIT}}
        if not await self._rows.update_one(abandoned, {"$set": {"state": EXPECTED, "touched_at": now}}):
            message = "The same file is being removed right now; try again"
            raise Aborted(message, reason="ARTIFACT_LEAVING", retry_after=DELETION_LIMIT.total_seconds())


class ArtifactSweeper:
    """Removes the artifacts of all organisations that nothing uses: of deleted builds and tests, and of failed uploads.

    It runs in every process: an artifact claimed by one is skipped by the others.
    """

    def __init__(self, mongo: Mongo, objects: ObjectStore, clock: Clock) -> None:
        self._artifacts = mongo.collection(ARTIFACTS)
        self._objects = objects
        self._clock = clock

    async def run(self) -> None:
        """Sweep until cancelled; failures are retried in the next sweep."""
        await run_every(EVERY_SECONDS, self.sweep, log=log, event="artifact_sweep_failed", transient=lambda _: True)

    async def sweep(self) -> int:
        """Delete all unused artifacts that are due; returns their number."""
        removed, before = 0, self._clock.now() - KEPT_UNUSED
        while claimed := await self.claim(before):
            async with asyncio.timeout(DELETION_SECONDS):
                await self._objects.delete(artifact_key(*claimed))
            await self.forget(*claimed)
            log.info("artifact_removed", org_id=claimed[0], sha256=claimed[1])
            removed += 1
        return removed

    async def claim(self, before: datetime) -> tuple[str, str] | None:
        """Organisation and SHA-256 of an artifact that was last used before then; the caller has to remove it."""
        unused = {"uses": 0, "touched_at": {"$lt": before}}
        # From here on no upload can reuse the file, so that none refers to one that is being deleted.
        claimed = {"$set": {"state": DELETING, "touched_at": self._clock.now()}}
        artifact: Document | None = await self._artifacts.find_one_and_update(unused, claimed)
        return (artifact["org_id"], artifact["sha256"]) if artifact else None

    async def forget(self, org_id: str, sha256: str) -> None:
        """Record that the claimed artifact has been removed."""
        await self._artifacts.delete_one({"_id": artifact_key(org_id, sha256), "state": DELETING})


def _own_id(sha256: str) -> str:
    return artifact_key(context.current().org_id, sha256)


class MongoArtifactBytes:
    """The port `ArtifactBytesLedger` on MongoDB."""

    def __init__(self, mongo: Mongo, clock: Clock) -> None:
        self._artifacts = OrgCollection(mongo, ARTIFACTS)
        self._reservations = OrgCollection(mongo, RESERVATIONS)
        self._part_uploads = OrgCollection(mongo, PART_UPLOADS)
        self._clock = clock

    async def sum(self) -> ArtifactBytes:
        live = {"expires_at": {"$gt": self._clock.now()}}
        reserved = sum(document["bytes"] for document in await self._reservations.find(live).to_list(None))
        uploads = self._part_uploads.find(IS_LIVE | live, {"size": 1})
        reserved += sum(document["size"] for document in await uploads.to_list(None))
        in_use = {"$sum": {"$cond": [{"$gt": ["$uses", 0]}, "$size", 0]}}
        documents = await self._artifacts.aggregate(
            [
                {"$match": {"_id": below(context.current().org_id)}},
                {"$group": {"_id": None, "used": in_use, "stored": {"$sum": "$size"}}},
            ]
        )
        used, stored = (documents[0]["used"], documents[0]["stored"]) if documents else (0, 0)
        return ArtifactBytes(used + reserved, stored + reserved)

    async def reserve(self, upload_id: str, size: int) -> None:
        values = {"bytes": size, "expires_at": self._clock.now() + RESERVATION_LIFETIME}
        await self._reservations.update_one({"_id": upload_id}, {"$set": values}, upsert=True)

    async def release(self, upload_id: str) -> None:
        await self._reservations.delete_one({"_id": upload_id})
