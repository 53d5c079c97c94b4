"""The runs in the lists of tests in MongoDB, of all organisations, as retention goes through them."""

from collections.abc import Collection, Sequence
from typing import Any

from services.chassis.mongo import Mongo, Session
from services.reporting.model.list_positions import is_day, minutes_counter
from services.reporting.ports import ListedTest, RowPage
from services.reporting.storage.documents import COUNTERS, END_OF_TIME, RUNS, counter_id
from services.reporting.storage.generations import ServingGeneration, collection_name, read_generations
from services.reporting.storage.subdocuments import Document


class MongoExpirableRuns:
    """See ports.ExpirableRuns."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._serving = ServingGeneration(mongo)

    async def test_after(self, test: ListedTest | None) -> ListedTest | None:
        """One seek, or two at the end of an organisation, in the index of the lists."""
        if test is None:
            return await self._first({"org_id": {"$gt": ""}, "test_id": {"$gt": ""}})
        same_org = await self._first({"org_id": test.org_id, "test_id": {"$gt": test.test_id}})
        return same_org or await self._first({"org_id": {"$gt": test.org_id}, "test_id": {"$gt": ""}})

    async def _first(self, query: Document) -> ListedTest | None:
        order, fields = [("org_id", 1), ("test_id", 1)], {"_id": 0, "org_id": 1, "test_id": 1}
        runs = await self._serving.collection(RUNS.collection)
        documents = (
            await runs.find({**query, "listed_at": {"$lt": END_OF_TIME}}, fields).sort(order).limit(1).to_list(None)
        )
        return ListedTest(**documents[0]) if documents else None

    async def runs(self, test: ListedTest, page: RowPage) -> Sequence[str]:
        """Answered from the index alone."""
        query = {"org_id": test.org_id, "test_id": test.test_id, "listed_at": {"$lt": page.before or END_OF_TIME}}
        newest = [("listed_at", -1), ("_id", -1)]
        cursor = (await self._serving.collection(RUNS.collection)).find(query, {"_id": 1}).sort(newest)
        return [document["_id"] for document in await cursor.skip(page.skip).limit(page.limit).to_list(None)]

    async def remove_empty_days(self, org_id: str, counters: Collection[str]) -> None:
        """One transaction per list that has empty days, so that no concurrent increment is lost."""
        for generation in (await read_generations(self._mongo)).written:
            collection = self._mongo.collection(collection_name(COUNTERS, generation))
            for name in sorted(counters):
                if await _empty_days(collection, counter_id(org_id, name)):
                    await self._mongo.transaction(_EmptyDayRemoval(collection, org_id, name))


class _EmptyDayRemoval:
    """Removes the days of a list on which no run is left, and their minutes."""

    def __init__(self, counters: Any, org_id: str, name: str) -> None:
        self._counters = counters
        self._org_id = org_id
        self._name = name

    async def __call__(self, session: Session) -> None:
        list_id = counter_id(self._org_id, self._name)
        empty = await _empty_days(self._counters, list_id, session)
        if empty:
            await self._counters.update_one({"_id": list_id}, {"$unset": dict.fromkeys(empty, "")}, session=session)
            minutes = [counter_id(self._org_id, minutes_counter(self._name, day)) for day in empty]
            await self._counters.delete_many({"_id": {"$in": minutes}}, session=session)


async def _empty_days(counters: Any, list_id: str, session: Session = None) -> list[str]:
    counter = await counters.find_one({"_id": list_id}, session=session) or {}
    return [field for field, amount in counter.items() if is_day(field) and not amount]
