"""Fills in the fields by which lists find executions, of executions from before there were these fields."""

from pymongo import UpdateOne

from services.chassis.mongo import Document, Mongo
from services.executor.storage.records import WITHOUT_ENV, execution_of, list_fields
from services.executor.storage.schema import EXECUTIONS

BATCH = 1_000


async def fill_list_fields(mongo: Mongo) -> None:
    """Repeated after a crash, it does the same again. One that changes meanwhile is written with its fields anyway."""
    executions, last = mongo.collection(EXECUTIONS), ""
    while documents := await _page(mongo, last):
        updates = [_update(document) for document in documents if "result" not in document]
        if updates:
            await executions.bulk_write(updates, ordered=False)
        last = documents[-1]["_id"]


async def _page(mongo: Mongo, after: str) -> list[Document]:
    cursor = mongo.collection(EXECUTIONS).find({"_id": {"$gt": after}}, WITHOUT_ENV).sort("_id", 1)
    documents: list[Document] = await cursor.limit(BATCH).to_list(None)
    return documents


def _update(document: Document) -> UpdateOne:
    fields = list_fields(execution_of(document))
    return UpdateOne({"_id": document["_id"], "revision": document["revision"]}, {"$set": fields})
