"""What the first generation of an installation lacks that is older than places in lists (2026-11-21).

Everything is written only where it is missing, so that it can be interrupted, run twice, and run by a process that was
slow while another one has begun to fold. A process of the older version must not fold at the same time, and does not
for long: see `refuse_older`.

What the stored rows do not tell stays unknown until a rebuild: tags of tests, and when runs were accepted.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from pymongo import UpdateOne

from services.chassis.mongo import Mongo, Session
from services.reporting.model import counters
from services.reporting.model.list_positions import day_of, minute_of, minutes
from services.reporting.model.reports.gate import GateRun
from services.reporting.model.tables import EPOCH, CellKey, SourceRevision
from services.reporting.storage.documents import BUILDS, CELLS, COUNTERS, RUNS, TESTS, counter_id, document_id
from services.reporting.storage.expirable_runs import ALWAYS, List, list_after
from services.reporting.storage.indexes import INDEXES
from services.reporting.storage.list_item import RUN_FIELDS, gate_run
from services.reporting.storage.subdocuments import Document, encode_source_revision


async def drop_old_indexes(mongo: Mongo) -> None:
    """Those of other names: their successors have the same keys, which MongoDB refuses."""
    for name, indexes in INDEXES.items():
        collection = mongo.collection(name)
        wanted = {index.document["name"] for index in indexes}
        for found in await collection.index_information():
            if found not in wanted and found != "_id_":
                await collection.drop_index(found)


async def refuse_older(mongo: Mongo) -> None:
    """Have a process of the older version, which a rolling update leaves for a while, end at the first run of a build
    or the first test that it folds, with nothing written and nothing committed; one that starts is refused anyway.
    What it would write the newer ones could not read."""
    for kind, written_now in ((CELLS, "named"), (TESTS, "name_folded")):
        await mongo.database.command("collMod", kind.collection, validator={written_now: {"$exists": True}})


async def complete(mongo: Mongo) -> None:
    """Add what is missing; collections and indexes are there."""
    await _complete_cells(mongo)
    await _count_builds(mongo)
    for field, counter in (("build_id", counters.build), ("test_id", counters.test)):
        async for one in _lists(mongo, field):
            await mongo.transaction(_Counting(mongo, one, field, counter(one.key)))


async def _complete_cells(mongo: Mongo) -> None:
    cells = mongo.collection(CELLS.collection)
    await cells.delete_many({"last": None, "active": {}, "uploaded_at": {"$exists": False}})
    await _name_cells(mongo)
    await cells.update_many({"named": {"$exists": False}}, {"$set": {"named": None}})
    told = {"$ifNull": [{"$first": "$build.uploaded_at"}, EPOCH]}
    only_missing = [{"$set": {"uploaded_at": {"$ifNull": ["$uploaded_at", "$$new.uploaded_at"]}}}]
    pipeline: list[Document] = [
        {"$match": {"uploaded_at": {"$exists": False}}},
        {"$lookup": {"from": BUILDS.collection, "localField": "build_id", "foreignField": "_id", "as": "build"}},
        {"$project": {"uploaded_at": told}},
        {"$merge": {"into": CELLS.collection, "whenMatched": only_missing, "whenNotMatched": "discard"}},
    ]
    await mongo.aggregate(CELLS.collection, pipeline)


async def _name_cells(mongo: Mongo) -> None:
    """With what CI named, as their runs show it. A cell without it counts as one of no branch, which a gate goes by."""
    cells = mongo.collection(CELLS.collection)
    async for one in _lists(mongo, "build_id"):
        named = await _named(mongo, one)
        if named:
            writes = [
                UpdateOne(
                    {"_id": document_id(key), "named": {"$exists": False}},
                    {"$set": {"named": encode_source_revision(value)}},
                )
                for key, value in named.items()
            ]
            await cells.bulk_write(writes, ordered=False)


async def _named(mongo: Mongo, one: List) -> dict[CellKey, SourceRevision]:
    """What CI named in the newest run of each cell of a build in which it named anything."""
    query = {"org_id": one.org_id, "build_id": one.key, "listed_at": {"$lt": ALWAYS}}
    found: dict[CellKey, SourceRevision] = {}
    async for document in mongo.collection(RUNS.collection).find(query, RUN_FIELDS):
        run = gate_run(document)
        if run.app_id and run.status.terminal and (run.branch or run.commit_sha):
            named = SourceRevision(_ended_at(run, document), run.run_id, run.branch, run.commit_sha)
            key = (run.app_id, run.test_id, one.key)
            found[key] = max(found.get(key, named), named, key=lambda known: known.recency)
    return found


def _ended_at(run: GateRun, document: Document) -> datetime:
    """In milliseconds, as everything that is kept."""
    ended_at: datetime = run.ended_at or document["listed_at"]
    return ended_at.replace(microsecond=ended_at.microsecond // 1000 * 1000)


async def _count_builds(mongo: Mongo) -> None:
    """By app and day. Where the counter is there already it is right, since folds count too."""
    day = {"$dateToString": {"date": "$uploaded_at", "format": "%Y-%m-%d"}}
    by_day = {"_id": {"org_id": "$org_id", "app_id": "$app_id", "day": day}, "builds": {"$sum": 1}}
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for row in await mongo.aggregate(BUILDS.collection, [{"$match": {"deleted": False}}, {"$group": by_day}]):
        days = counted.setdefault((row["_id"]["org_id"], row["_id"]["app_id"]), {})
        days[row["_id"]["day"]] = row["builds"]
    for (org_id, app_id), days in counted.items():
        query = {"_id": counter_id(org_id, counters.app_builds(app_id))}
        update = {"$setOnInsert": {"org_id": org_id, **days}}
        await mongo.collection(COUNTERS).update_one(query, update, upsert=True)


async def _lists(mongo: Mongo, field: str) -> AsyncIterator[List]:
    runs, one = mongo.collection(RUNS.collection), None
    while one := await list_after(runs, field, one):
        yield one


class _Counting:
    """Counts the runs of one list by day and minute, if it has no such counts yet: `listed` says that it has."""

    def __init__(self, mongo: Mongo, one: List, field: str, counter: str) -> None:
        self._mongo = mongo
        self._one = one
        self._field = field
        self._counter = counter

    async def __call__(self, session: Session) -> None:
        collection = self._mongo.collection(COUNTERS)
        list_id = counter_id(self._one.org_id, self._counter)
        if await collection.find_one({"_id": list_id, "listed": {"$exists": True}}, session=session) is None:
            writes = [self._set(name, fields) for name, fields in (await self._counted(session)).items()]
            await collection.bulk_write(writes, ordered=False, session=session)

    async def _counted(self, session: Session) -> dict[str, dict[str, int]]:
        """The fields by counter: those of the list, and those of each of its days."""
        query = {"org_id": self._one.org_id, self._field: self._one.key, "listed_at": {"$lt": ALWAYS}}
        by_minute = {"_id": {"$dateTrunc": {"date": "$listed_at", "unit": "minute"}}, "runs": {"$sum": 1}}
        rows = await self._mongo.aggregate(RUNS.collection, [{"$match": query}, {"$group": by_minute}], session=session)
        found: dict[str, dict[str, int]] = {self._counter: {"listed": 0}}
        for row in rows:
            day = day_of(row["_id"])
            found[self._counter]["listed"] += row["runs"]
            found[self._counter][day] = found[self._counter].get(day, 0) + row["runs"]
            found.setdefault(minutes(self._counter, day), {})[minute_of(row["_id"])] = row["runs"]
        return found

    def _set(self, name: str, fields: dict[str, int]) -> UpdateOne:
        org_id = self._one.org_id
        change: dict[str, Any] = {"$set": fields, "$setOnInsert": {"org_id": org_id}}
        return UpdateOne({"_id": counter_id(org_id, name)}, change, upsert=True)
