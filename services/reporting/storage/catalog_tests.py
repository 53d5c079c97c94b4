"""The copies of the catalog's tests in MongoDB, for the caller's organisation."""

from collections.abc import Collection, Mapping, Sequence

from services.chassis.mongo import Mongo
from services.reporting.model.flaky import Classification
from services.reporting.model.snapshots import Quarantine
from services.reporting.ports import Page, TestFilter
from services.reporting.storage.documents import HISTORIES, TESTS
from services.reporting.storage.generations import ServingGeneration
from services.reporting.storage.subdocuments import Document, decode_fields

_NEWEST_FIRST = [("created_at", -1), ("_id", -1)]


class MongoCatalogTests:
    """See ports.CatalogTests."""

    def __init__(self, mongo: Mongo) -> None:
        self._serving = ServingGeneration(mongo)

    async def with_history(self, classification: Classification | None = None) -> frozenset[str]:
        """Answered from the index alone."""
        query = {} if classification is None else {"classification": classification.value}
        cursor = (await self._serving.org_collection(HISTORIES.collection)).find(query, {"_id": 0, "test_id": 1})
        return frozenset(document["test_id"] for document in await cursor.to_list(None))

    async def newest(self, filter: TestFilter, page: Page) -> Sequence[str]:
        cursor = (
            (await self._serving.org_collection(TESTS.collection))
            .find(_condition(filter), {"_id": 1})
            .sort(_NEWEST_FIRST)
        )
        return [document["_id"] for document in await cursor.skip(page.skip).limit(page.limit).to_list(None)]

    async def count(self, filter: TestFilter) -> int:
        return await (await self._serving.org_collection(TESTS.collection)).count_documents(_condition(filter))

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        query = {"_id": {"$in": list(test_ids)}, "quarantine": {"$ne": None}}
        found = (
            await (await self._serving.org_collection(TESTS.collection)).find(query, {"quarantine": 1}).to_list(None)
        )
        return {document["_id"]: decode_fields(Quarantine, document["quarantine"]) for document in found}


def _condition(filter: TestFilter) -> Document:
    condition: Document = {"deleted": False}
    if filter.platform is not None:
        condition["platform"] = {"$in": [filter.platform, None]}
    if filter.tag is not None:
        condition["tags"] = filter.tag
    if filter.pattern is not None:
        condition["name_folded"] = {"$regex": filter.pattern}
    ids = {"$in": filter.only, "$nin": filter.without or None}
    named_ids = {operator: list(some) for operator, some in ids.items() if some is not None}
    return condition | ({"_id": named_ids} if named_ids else {})
