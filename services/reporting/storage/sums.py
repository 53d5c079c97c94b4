"""Sums of a generation that must agree, since each run is counted once in each of them."""

from typing import Any

from services.chassis.mongo import Mongo, Session
from services.reporting.model.operations import Difference
from services.reporting.storage.documents import CELLS, COUNTERS, RUNS
from services.reporting.storage.generations import named

_COUNTED = ("passed", "failed", "infra_failed", "cancelled")


async def discrepancies(mongo: Mongo, generation: int) -> list[Difference]:
    """The sums that do not agree at one moment: `recounted` is how many runs there are, `serving` what was counted."""

    async def work(session: Session) -> list[Difference]:
        runs = await _runs(mongo, generation, session)
        counted = {
            "runs of tests": (await _counters(mongo, generation, ":test:[^:]+$", session), runs["runs"]),
            "runs of builds": (await _counters(mongo, generation, ":build:[^:]+$", session), runs["built"]),
            "runs in cells": (await _cells(mongo, generation, session), runs["placed"]),
        }
        return [
            Difference("sums", name, "", str(ours), str(theirs))
            for name, (ours, theirs) in counted.items()
            if ours != theirs
        ]

    return await mongo.snapshot(work)


async def _runs(mongo: Mongo, generation: int, session: Session) -> dict[str, int]:
    """All runs, those with a build, and those with an app, too."""
    built = {"$cond": [{"$gt": ["$build_id", None]}, 1, 0]}
    placed = {"$cond": [{"$and": [{"$gt": ["$build_id", None]}, {"$gt": ["$app_id", None]}]}, 1, 0]}
    sums = {"runs": {"$sum": 1}, "built": {"$sum": built}, "placed": {"$sum": placed}}
    return await _sums(mongo, named(RUNS.collection, generation), [], sums, session)


async def _counters(mongo: Mongo, generation: int, pattern: str, session: Session) -> int:
    wanted = [{"$match": {"_id": {"$regex": pattern}}}]
    found = await _sums(mongo, named(COUNTERS, generation), wanted, {"runs": {"$sum": "$runs"}}, session)
    return found["runs"]


async def _cells(mongo: Mongo, generation: int, session: Session) -> int:
    under_way = {"$size": {"$objectToArray": "$active"}}
    all_of_them = {"$add": [*(f"${name}" for name in _COUNTED), under_way]}
    found = await _sums(mongo, named(CELLS.collection, generation), [], {"runs": {"$sum": all_of_them}}, session)
    return found["runs"]


async def _sums(mongo: Mongo, collection: str, first: list[Any], sums: Any, session: Session) -> dict[str, int]:
    found = await mongo.aggregate(collection, [*first, {"$group": {"_id": None, **sums}}], session=session)
    return {name: int(found[0][name]) if found else 0 for name in sums}
