"""Uploads: a document each while their file or its parts arrive in the object store, below the prefix of the upload."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from services.catalog.model.part_uploads import IDLE, KEPT, PartUpload, parts_prefix
from services.catalog.storage.documents import IS_LIVE, dump, find, load
from services.chassis import logs
from services.chassis.clock import Clock
from services.chassis.mongo import Document, Mongo
from services.chassis.object_store import ObjectStore
from services.chassis.org_collection import OrgCollection
from services.chassis.retry import run_every

PART_UPLOADS = "part_uploads"
ARRIVING_FILES = "arriving_files"
EVERY_SECONDS = 600.0
DELETION_SECONDS = 60.0
# So long after its end an upload is removed: parts that were arriving then are stored.
GRACE = timedelta(minutes=10)

log = logs.get(__name__)


class MongoPartUploads:
    """The port `PartUploads`. What has ended stays until the sweeper has removed its parts."""

    def __init__(self, rows: OrgCollection, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def add(self, upload: PartUpload) -> None:
        file = {"app_id": upload.app_id, "sha256": upload.sha256, "size": upload.size}
        await self._rows.update_many(file | IS_LIVE | {"expires_at": {"$lte": self._clock.now()}}, _ENDED)
        await self._rows.insert_one(dump(upload, parts=sorted(upload.parts), live=True))

    async def get(self, upload_id: str) -> PartUpload | None:
        return _upload(await self._rows.find_one({"_id": upload_id} | self._under_way()))

    async def of_file(self, app_id: str, sha256: str, size: int) -> PartUpload | None:
        file = {"app_id": app_id, "sha256": sha256, "size": size}
        return _upload(await self._rows.find_one(file | self._under_way()))

    async def count(self) -> int:
        return await self._rows.count_documents(self._under_way())

    async def idle(self) -> Sequence[PartUpload]:
        until = self._clock.now() + KEPT - IDLE
        return [_load(document) for document in await find(self._rows, IS_LIVE | {"expires_at": {"$lte": until}})]

    async def arrived(self, upload_id: str, number: int) -> PartUpload | None:
        change = {"$addToSet": {"parts": number}, "$max": {"expires_at": self._clock.now() + KEPT}}
        await self._rows.update_one({"_id": upload_id} | self._under_way(), change)
        return await self.get(upload_id)

    async def end(self, upload_id: str) -> None:
        change = {"$set": {"live": False, "expires_at": self._clock.now()}}
        await self._rows.update_one({"_id": upload_id} | IS_LIVE, change)

    async def remove(self, upload_id: str) -> None:
        await self._rows.delete_one({"_id": upload_id})

    def _under_way(self) -> Document:
        return IS_LIVE | {"expires_at": {"$gt": self._clock.now()}}


class MongoArrivingFiles:
    """The port `ArrivingFiles`."""

    def __init__(self, rows: OrgCollection, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock

    async def add(self, upload_id: str) -> None:
        await self._rows.insert_one({"_id": upload_id, **self._expiring_in(KEPT)})

    async def end(self, upload_id: str) -> None:
        await self._rows.update_one({"_id": upload_id}, {"$set": self._expiring_in(timedelta())})

    def _expiring_in(self, time: timedelta) -> Document:
        return {"expires_at": self._clock.now() + time}


class UploadSweeper:
    """Removes the ended and expired uploads of all organisations, and what is stored below their prefixes. It runs in
    every process.
    """

    def __init__(self, mongo: Mongo, objects: ObjectStore, clock: Clock) -> None:
        self._collections = [mongo.collection(name) for name in (PART_UPLOADS, ARRIVING_FILES)]
        self._objects = objects
        self._clock = clock

    async def run(self) -> None:
        """Sweep until cancelled; failures are retried in the next sweep."""
        await run_every(EVERY_SECONDS, self.sweep, log=log, event="upload_sweep_failed", transient=lambda _: True)

    async def sweep(self) -> int:
        """Delete all uploads that are due; returns their number."""
        return sum([await self._sweep(uploads) for uploads in self._collections])

    async def _sweep(self, uploads: Any) -> int:
        due = {"expires_at": {"$lt": self._clock.now() - GRACE}}
        removed = 0
        async for document in uploads.find(due, {"org_id": 1}):
            async with asyncio.timeout(DELETION_SECONDS):
                await self._objects.delete_all(parts_prefix(document["org_id"], document["_id"]))
            await uploads.delete_one({"_id": document["_id"], **due})
            log.info("upload_removed", org_id=document["org_id"], upload_id=document["_id"])
            removed += 1
        return removed


_ENDED: Document = {"$set": {"live": False}}


def _upload(document: Document | None) -> PartUpload | None:
    return None if document is None else _load(document)


def _load(document: Document) -> PartUpload:
    return load(PartUpload, document, parts=frozenset(document["parts"]))
