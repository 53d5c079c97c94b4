"""Accepted baselines: a document in MongoDB for each, and its picture in the object store.

A picture has an object of its own, baselines/<organisation>/<test>/<key>/<random>.png, which is never overwritten: it
is stored before the document that refers to it, and deleted after. A crash in between leaves an object that nothing
refers to; it is deleted with the test.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

from pymongo.errors import PyMongoError

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import DomainError, NotFound, ResourceExhausted, Unavailable
from services.chassis.limit_refusals import limit_reached
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.mongo_errors import as_unavailable
from services.chassis.object_store import ObjectStore
from services.executor.model.baselines import BASELINES_LIMIT, Baseline
from services.executor.ports.baselines import TestKey
from services.executor.storage.leased_runs import lock_organisation
from services.executor.storage.schema import BASELINES

LOAD_SECONDS = 10.0
LOAD_ATTEMPTS = 3
ADVICE = "delete baselines that no test needs"


class MongoBaselines:
    """The ports `Baselines` and `BaselinesOfTests`."""

    def __init__(self, mongo: Mongo, store: ObjectStore) -> None:
        self._mongo = mongo
        self._baselines = mongo.collection(BASELINES)
        self._store = store

    async def load(self, test: TestKey, key: str) -> bytes | None:
        async with asyncio.timeout(LOAD_SECONDS):
            for _ in range(LOAD_ATTEMPTS):
                document = await self._find(test, key)
                if document is None:
                    return None
                try:
                    return b"".join([chunk async for chunk in self._store.get_stream(document["object"])])
                except NotFound:  # replaced or deleted since
                    continue
        raise Unavailable("The picture of the baseline is missing, try again", reason="STORE_UNAVAILABLE")

    async def save(self, test: TestKey, key: str, picture: bytes, most_bytes: int | None) -> Baseline:
        now = datetime.now(UTC)
        accepted_at = now.replace(microsecond=now.microsecond // 1000 * 1000)
        new = Baseline(test.org_id, test.test_id, key, len(picture), sha256(picture).hexdigest(), accepted_at)
        object_key = f"{_folder(test)}/{key}/{uuid4().hex}.png"
        await self._store.put_bytes(object_key, picture)
        try:
            earlier = await self._mongo.transaction(lambda session: self._replace(session, new, object_key, most_bytes))
        except DomainError:
            await self._store.delete(object_key)
            raise
        except PyMongoError as error:
            raise as_unavailable(error) or error from error
        if earlier is not None:
            await self._store.delete(earlier["object"])
        return new

    async def _replace(
        self, session: Session, new: Baseline, object_key: str, most_bytes: int | None
    ) -> Document | None:
        """Store the document, if the limits allow it; the earlier one. The organisation's lock makes the sums exact."""
        await lock_organisation(self._mongo, session, new.org_id)
        id_ = _id(TestKey(new.org_id, new.test_id), new.key)
        others: Document = {"_id": {"$ne": id_}, "org_id": new.org_id}
        count = await self._baselines.count_documents({**others, "test_id": new.test_id}, session=session)
        if count >= BASELINES_LIMIT:
            message = f"The test has {BASELINES_LIMIT} baselines already: delete some of them"
            raise ResourceExhausted(message, reason="TOO_MANY_BASELINES")
        if most_bytes is not None and await self._sum(others, session) + new.size_bytes > most_bytes:
            raise limit_reached("baseline_bytes", most_bytes, ADVICE)
        document = _document(id_, new, object_key)
        earlier: Document | None = await self._baselines.find_one_and_replace(
            {"_id": id_}, document, upsert=True, session=session
        )
        return earlier

    async def of_test(self, test: TestKey) -> Sequence[Baseline]:
        query = {"org_id": test.org_id, "test_id": test.test_id}
        return [_baseline(document) for document in await self._baselines.find(query).sort("key", 1).to_list(None)]

    async def find(self, test: TestKey, key: str) -> Baseline | None:
        document = await self._find(test, key)
        return None if document is None else _baseline(document)

    async def read(self, baseline: Baseline, part: FilePart) -> AsyncIterator[bytes]:
        document = await self._find(TestKey(baseline.org_id, baseline.test_id), baseline.key)
        if document is None or document["sha256"] != baseline.sha256:
            raise NotFound("The baseline was replaced or deleted", reason="BASELINE_NOT_FOUND")
        async for chunk in self._store.get_stream(document["object"], part):
            yield chunk

    async def delete(self, test: TestKey, key: str) -> bool:
        document = await self._baselines.find_one_and_delete({"_id": _id(test, key)})
        if document is not None:
            await self._store.delete(document["object"])
        return document is not None

    async def used_bytes(self, org_id: str) -> int:
        return await self._sum({"org_id": org_id})

    async def tests(self, after: TestKey | None, limit: int) -> Sequence[TestKey]:
        """Read in the order of the ids, which begin with the test, so that the index of ids serves."""
        test_keys: list[TestKey] = []
        while len(test_keys) < limit:
            beyond = {"_id": {"$gt": f"{_id(after, '')}\uffff"}} if after is not None else {}
            rows = self._baselines.find(beyond, {"org_id": 1, "test_id": 1}).sort("_id", 1).limit(limit)
            read = [TestKey(row["org_id"], row["test_id"]) for row in await rows.to_list(None)]
            test_keys += dict.fromkeys(read)
            if len(read) < limit:
                break
            after = test_keys[-1]
        return test_keys[:limit]

    async def delete_of_test(self, test: TestKey) -> int:
        """The objects are deleted first, so that after a crash in between the test is found again."""
        await self._store.delete_all(_folder(test))
        deleted = await self._baselines.delete_many({"org_id": test.org_id, "test_id": test.test_id})
        return int(deleted.deleted_count)

    async def _find(self, test: TestKey, key: str) -> Document | None:
        try:
            document: Document | None = await self._baselines.find_one({"_id": _id(test, key)})
        except PyMongoError as error:
            raise as_unavailable(error) or error from error
        return document

    async def _sum(self, query: Document, session: Session | None = None) -> int:
        pipeline = [{"$match": query}, {"$group": {"_id": None, "bytes": {"$sum": "$size_bytes"}}}]
        sums = await self._mongo.aggregate(BASELINES, pipeline, session=session)
        return int(sums[0]["bytes"]) if sums else 0


def _id(test: TestKey, key: str) -> str:
    return f"{test.org_id}/{test.test_id}/{key}"


def _folder(test: TestKey) -> str:
    return f"baselines/{test.org_id}/{test.test_id}"


def _document(id_: str, baseline: Baseline, object_key: str) -> Document:
    return {
        "_id": id_,
        "org_id": baseline.org_id,
        "test_id": baseline.test_id,
        "key": baseline.key,
        "size_bytes": baseline.size_bytes,
        "sha256": baseline.sha256,
        "accepted_at": baseline.accepted_at,
        "object": object_key,
    }


def _baseline(document: Document) -> Baseline:
    fields = ("org_id", "test_id", "key", "size_bytes", "sha256", "accepted_at")
    return Baseline(**{name: document[name] for name in fields})
