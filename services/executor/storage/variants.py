"""The variants that tests have had, one document for each test that reads variables from outside."""

from collections.abc import Collection, Mapping

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from services.chassis.context import current
from services.chassis.mongo import Document, Mongo
from services.executor.model.variants import KnownVariants
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import VARIANTS

DUPLICATE_KEY = 11000


class MongoVariants:
    """Those of the caller's organisation. They are forgotten a year after the last new one."""

    def __init__(self, mongo: Mongo) -> None:
        self._variants = mongo.collection(VARIANTS)

    async def load(self, test_ids: Collection[str]) -> Mapping[str, KnownVariants]:
        documents = await self._variants.find({"_id": {"$in": [_id(test_id) for test_id in test_ids]}}).to_list(None)
        return {document["test_id"]: from_document(KnownVariants, document) for document in documents}

    async def store(self, changed: Mapping[str, tuple[KnownVariants, KnownVariants]]) -> Collection[str]:
        """A document that another start has changed no longer matches, and the insert that is tried instead fails."""
        updates = [
            UpdateOne({"_id": _id(test_id), "revision": before.revision}, _update(test_id, after), upsert=True)
            for test_id, (before, after) in changed.items()
        ]
        try:
            await self._variants.bulk_write(updates, ordered=False)
        except BulkWriteError as error:
            failed = error.details["writeErrors"]
            if any(write["code"] != DUPLICATE_KEY for write in failed):
                raise
            tests = list(changed)
            return [tests[write["index"]] for write in failed]
        return ()


def _update(test_id: str, known: KnownVariants) -> list[Document]:
    fields = {"org_id": current().org_id, "test_id": test_id, **to_document(known)}
    return [{"$set": {**{name: {"$literal": value} for name, value in fields.items()}, "updated_at": "$$NOW"}}]


def _id(test_id: str) -> str:
    return f"{current().org_id}/{test_id}"
