"""The lists of tests in MongoDB as retention goes through them, of all organisations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from services.chassis.mongo import Mongo, Session
from services.reporting.model.list_positions import is_day, minutes
from services.reporting.ports import ListedTest, Page
from services.reporting.storage.documents import COUNTERS, RUNS, counter_id
from services.reporting.storage.generations import ServingGeneration, collection_name, read_generations
from services.reporting.storage.subdocuments import Document

ALWAYS = datetime(9999, 1, 1, tzinfo=UTC)
_LISTED = {"listed_at": {"$lt": ALWAYS}}  # what the indexes of lists hold


@dataclass(frozen=True, slots=True)
class List:
    """A list of an organisation: of the build or the test `key`."""

    org_id: str
    key: str


async def list_after(runs: Any, field: str, one: List | None) -> List | None:
    """The next list of all organisations, by organisation and key; `field` is what makes it: build_id or test_id."""
    if one is None:
        return await _first(runs, field, {"org_id": {"$gt": ""}, field: {"$gt": ""}})
    same = await _first(runs, field, {"org_id": one.org_id, field: {"$gt": one.key}})
    return same or await _first(runs, field, {"org_id": {"$gt": one.org_id}, field: {"$gt": ""}})


async def _first(runs: Any, field: str, query: Document) -> List | None:
    order, fields = [("org_id", 1), (field, 1)], {"_id": 0, "org_id": 1, field: 1}
    found = await runs.find({**query, **_LISTED}, fields).sort(order).limit(1).to_list(None)
    return List(found[0]["org_id"], found[0][field]) if found else None


class MongoExpirableRuns:
    """See ports.Listed."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._serving = ServingGeneration(mongo)

    async def test_after(self, test: ListedTest | None) -> ListedTest | None:
        """One seek, or two at the end of an organisation, in the index of the lists."""
        after = List(test.org_id, test.test_id) if test else None
        found = await list_after(await self._collection(RUNS.collection), "test_id", after)
        return ListedTest(found.org_id, found.key) if found else None

    async def runs(self, test: ListedTest, page: Page) -> Sequence[str]:
        """Answered from the index alone."""
        query = {"org_id": test.org_id, "test_id": test.test_id, "listed_at": {"$lt": page.before or ALWAYS}}
        newest = [("listed_at", -1), ("_id", -1)]
        cursor = (await self._collection(RUNS.collection)).find(query, {"_id": 1}).sort(newest)
        return [document["_id"] for document in await cursor.skip(page.skip).limit(page.limit).to_list(None)]

    async def tidy(self, org_id: str, names: Collection[str]) -> None:
        """One transaction for each list that has such days: what a fold counts there at the same time is not lost."""
        for generation in (await read_generations(self._mongo)).folded:
            counters = self._mongo.collection(collection_name(COUNTERS, generation))
            for name in sorted(names):
                if await _empty_days(counters, counter_id(org_id, name)):
                    await self._mongo.transaction(_EmptyDayRemoval(counters, org_id, name))

    async def _collection(self, name: str) -> Any:
        return self._mongo.collection(collection_name(name, await self._serving.generation()))


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
            gone = [counter_id(self._org_id, minutes(self._name, day)) for day in empty]
            await self._counters.delete_many({"_id": {"$in": gone}}, session=session)


async def _empty_days(counters: Any, list_id: str, session: Session = None) -> list[str]:
    counted = await counters.find_one({"_id": list_id}, session=session) or {}
    return [field for field, amount in counted.items() if is_day(field) and not amount]
