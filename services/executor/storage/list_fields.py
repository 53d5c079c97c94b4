"""Fills in the fields by which lists find executions, of executions from before there were these fields, and of those
that processes of an older version have written since.
"""

from pymongo import UpdateOne

from services.chassis.mongo import Document, Mongo
from services.executor.storage.records import WITHOUT_ENV, execution_of, list_fields
from services.executor.storage.schema import EXECUTIONS, LIST_MARKS

BATCH = 1_000


async def fill_list_fields(mongo: Mongo) -> None:
    """Repeated after a crash, it does the same again. One that changes meanwhile is written with its fields."""
    executions, last = mongo.collection(EXECUTIONS), ""
    while documents := await _page(mongo, last):
        updates = [_update(document) for document in documents if "result" not in document]
        if updates:
            await executions.bulk_write(updates, ordered=False)
        last = documents[-1]["_id"]


async def fill_missing_list_fields(mongo: Mongo) -> int:
    """Those that the index of results knows to be without; returns how many. What marks have counted does not have
    them, so they are counted again.
    """
    executions, filled = mongo.collection(EXECUTIONS), 0
    for org_id in await executions.distinct("org_id"):
        more = True
        while more:
            without = executions.find({"org_id": org_id, "result": None}, WITHOUT_ENV).hint("by_result").limit(BATCH)
            updates = [_update(document) for document in await without.to_list(None)]
            changed = (await executions.bulk_write(updates, ordered=False)).modified_count if updates else 0
            filled, more = filled + changed, changed > 0
    if filled:
        await mongo.collection(LIST_MARKS).delete_many({})
    return filled


async def _page(mongo: Mongo, after: str) -> list[Document]:
    cursor = mongo.collection(EXECUTIONS).find({"_id": {"$gt": after}}, WITHOUT_ENV).sort("_id", 1)
    documents: list[Document] = await cursor.limit(BATCH).to_list(None)
    return documents


def _update(document: Document) -> UpdateOne:
    fields = list_fields(execution_of(document))
    return UpdateOne({"_id": document["_id"], "revision": document["revision"]}, {"$set": fields})
