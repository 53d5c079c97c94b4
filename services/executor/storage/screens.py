"""Trees and pictures of screens: a document for each in MongoDB, and its content in the object store.

A new object is stored before the document that refers to it, so a crash in between leaves an object that nothing refers
to. Whatever is deleted is marked as `replaceable` first: from then on nobody counts on its object, and whoever has the
content stores it again under another key. So deletion never removes what is stored at the same time, and after a crash
the sweep finds the document again.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime, time
from uuid import uuid4

from pymongo import UpdateOne
from pymongo.errors import DuplicateKeyError, PyMongoError

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound
from services.chassis.mongo import Document, Mongo
from services.chassis.mongo_errors import as_unavailable
from services.chassis.object_store import ObjectStore
from services.executor.model.screens import OVERHEAD_BYTES, ScreenKey, StoredScreen
from services.executor.ports.screens import SCREEN_NOT_FOUND
from services.executor.storage.schema import SCREENS, SCREENS_OF_ORGANISATION

OBJECTS_AT_ONCE = 50
# What MongoDB may take to add up the bytes of an organisation.
SUM_MILLISECONDS = 15_000
# Set on what is deleted, and on what has lost its object.
_REPLACEABLE = "replaceable"
_STORED: Document = {_REPLACEABLE: {"$exists": False}}


class MongoScreens:
    """The ports `Screens`, `WrittenScreens` and `RetainedScreens`."""

    def __init__(self, mongo: Mongo, store: ObjectStore) -> None:
        self._mongo = mongo
        self._screens = mongo.collection(SCREENS)
        self._store = store

    async def refresh(self, key: ScreenKey, day: date) -> bool:
        change = {"$max": {"used_on": _midnight(day)}}
        updated = await self._screens.update_one({"_id": _id(key), **_STORED}, change)
        return bool(updated.matched_count)

    async def store(self, key: ScreenKey, content: bytes, content_type: str, day: date) -> None:
        object_key = f"screens/{key.org_id}/{key.hash}/{uuid4().hex}"
        await self._store.put_bytes(object_key, content)
        document = {
            "org_id": key.org_id,
            "content_type": content_type,
            "size_bytes": len(content),
            "used_on": _midnight(day),
            "object": object_key,
        }
        try:
            former = await self._screens.find_one_and_replace(
                {"_id": _id(key), _REPLACEABLE: True}, document, upsert=True
            )
        except DuplicateKeyError:  # another worker has stored it meanwhile
            await self._store.delete(object_key)
            if not await self.refresh(key, day):  # and it was deleted since
                await self.store(key, content, content_type, day)
            return
        except PyMongoError as error:
            raise as_unavailable(error) or error from error
        if former is not None:
            await self._store.delete(former["object"])

    async def find(self, key: ScreenKey) -> StoredScreen | None:
        try:
            document: Document | None = await self._screens.find_one({"_id": _id(key)})
        except PyMongoError as error:
            raise as_unavailable(error) or error from error
        return None if document is None else _screen(document)

    async def read(self, screen: StoredScreen, part: FilePart | None = None) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._store.get_stream(screen.object_key, part):
                yield chunk
        except NotFound as error:
            of_object = {"_id": _id(screen.key), "object": screen.object_key}
            await self._screens.update_one(of_object, {"$set": {_REPLACEABLE: True}})
            raise NotFound("The screen was deleted", reason=SCREEN_NOT_FOUND) from error

    async def used_bytes(self, org_id: str) -> int:
        counted = {"$sum": {"$add": ["$size_bytes", OVERHEAD_BYTES]}}
        pipeline: list[Document] = [{"$match": {"org_id": org_id}}, {"$group": {"_id": None, "bytes": counted}}]
        options = {"hint": SCREENS_OF_ORGANISATION, "maxTimeMS": SUM_MILLISECONDS}
        sums = await self._mongo.aggregate(SCREENS, pipeline, **options)
        return int(sums[0]["bytes"]) if sums else 0

    async def organisations(self) -> Sequence[str]:
        org_ids: list[str] = await self._screens.distinct("org_id", {"org_id": {"$gt": ""}})
        return org_ids

    async def unused_since(self, day: date, limit: int) -> Sequence[StoredScreen]:
        rows = self._screens.find({"used_on": {"$lt": _midnight(day)}}).sort("used_on", 1).limit(limit)
        return [_screen(document) for document in await rows.to_list(None)]

    async def least_used(self, org_id: str, excess: int, limit: int) -> Sequence[StoredScreen]:
        """Of those of one day the largest first, as the index has them."""
        order = [("used_on", 1), ("size_bytes", -1)]
        rows = self._screens.find({"org_id": org_id}).sort(order).limit(limit)
        chosen: list[StoredScreen] = []
        for screen in map(_screen, await rows.to_list(None)):
            if excess <= 0:
                break
            chosen.append(screen)
            excess -= screen.counted_bytes
        return chosen

    async def delete(self, screens: Sequence[StoredScreen]) -> int:
        if not screens:
            return 0
        unused = [
            UpdateOne(
                {"_id": _id(screen.key), "object": screen.object_key, "used_on": {"$lte": _midnight(screen.used_on)}},
                {"$set": {_REPLACEABLE: True}},
            )
            for screen in screens
        ]
        await self._screens.bulk_write(unused, ordered=False)
        ids, objects = [_id(screen.key) for screen in screens], [screen.object_key for screen in screens]
        marked: Document = {"_id": {"$in": ids}, "object": {"$in": objects}, _REPLACEABLE: True}
        object_keys = [row["object"] for row in await self._screens.find(marked, {"object": 1}).to_list(None)]
        for first in range(0, len(object_keys), OBJECTS_AT_ONCE):
            await asyncio.gather(*map(self._store.delete, object_keys[first : first + OBJECTS_AT_ONCE]))
        deleted = await self._screens.delete_many({**marked, "object": {"$in": object_keys}})
        return int(deleted.deleted_count)


def _id(key: ScreenKey) -> str:
    return f"{key.org_id}/{key.hash}"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _screen(document: Document) -> StoredScreen:
    return StoredScreen(
        key=ScreenKey(document["org_id"], document["_id"].rpartition("/")[2]),
        content_type=document["content_type"],
        size_bytes=document["size_bytes"],
        used_on=document["used_on"].date(),
        object_key=document["object"],
    )
