"""Copies of tests that an earlier version of reporting wrote, completed as far as they know themselves.

Platform, tags, version and creation are the catalog's to tell: a rebuild brings them, and so does each change of the
test. Until then such a test passes every platform, has no tags, and stands at the end of lists.
"""

from typing import Any

from pymongo import UpdateOne

from services.chassis.mongo import Document, Mongo
from services.reporting.model.text_search import fold_case
from services.reporting.storage.documents import HISTORIES, TESTS
from services.reporting.storage.generations import collection_name, read_generations
from services.reporting.storage.indexes import INDEXES

BATCH = 1_000
_INCOMPLETE = {"name_folded": {"$exists": False}}
_UNTOLD: Document = {"platform": None, "tags": [], "version": 0, "created_at": None, "quarantine": None}


async def complete_tests(mongo: Mongo) -> None:
    """Give the copies of every generation the fields that they lack, and the indexes of lists of tests. Repeatable."""
    for generation in (await read_generations(mongo)).folded:
        for kind in (TESTS.collection, HISTORIES.collection):
            await mongo.collection(collection_name(kind, generation)).create_indexes(INDEXES[kind])
        await _complete(mongo.collection(collection_name(TESTS.collection, generation)))


async def _complete(copies: Any) -> None:
    while documents := await copies.find(_INCOMPLETE, {"name": 1}).limit(BATCH).to_list(None):
        await copies.bulk_write([_completion(document) for document in documents], ordered=False)


def _completion(document: Document) -> UpdateOne:
    """What is there stays: a newer version may have written the copy meanwhile."""
    untold = {name: {"$ifNull": [f"${name}", {"$literal": value}]} for name, value in _UNTOLD.items()}
    name = {"name_folded": {"$literal": fold_case(document["name"])}}
    return UpdateOne({"_id": document["_id"], **_INCOMPLETE}, [{"$set": untold | name}])
