"""Totals of a generation that must agree, since each run is counted once in each of them."""

from collections.abc import Mapping
from typing import Any

from services.chassis.mongo import Document, Mongo, Session
from services.reporting.model.snapshots import Outcome
from services.reporting.rebuild.state import Difference
from services.reporting.storage.documents import CELLS, COUNTERS, RUNS
from services.reporting.storage.generations import collection_name

BATCH = 100_000
"""Documents that one query adds up: it takes seconds even from a disk, and a query may take 20."""


async def find_inconsistencies(mongo: Mongo, generation: int, batch: int = BATCH) -> list[Difference]:
    """The totals that disagree, in one snapshot: `recounted` is the number of runs, `serving` what was counted."""

    async def work(session: Session) -> list[Difference]:
        async def total(collection: str, sums: Mapping[str, Any]) -> Mapping[str, int]:
            return await _add_up(mongo, collection_name(collection, generation), sums, session, batch)

        runs, counters = await total(RUNS.collection, _RUNS), await total(COUNTERS, _COUNTERS)
        cells = await total(CELLS.collection, _CELLS)
        totals = {
            "runs of tests": (counters["tests"], runs["runs"]),
            "runs of builds": (counters["builds"], runs["with_build"]),
            "runs in cells": (cells["runs"], runs["with_cell"]),
        }
        return [
            Difference("sums", name, "", str(counted), str(expected))
            for name, (counted, expected) in totals.items()
            if counted != expected
        ]

    return await mongo.snapshot(work)


async def _add_up(
    mongo: Mongo, collection: str, sums: Mapping[str, Any], session: Session, batch: int
) -> dict[str, int]:
    """The sums over all documents, added up batch by batch so that no query takes long."""
    totals, last = dict.fromkeys(sums, 0), ""
    while True:
        pipeline: list[Document] = [
            {"$match": {"_id": {"$gt": last}}},
            {"$sort": {"_id": 1}},
            {"$limit": batch},
            {"$group": {"_id": None, "last": {"$max": "$_id"}, **sums}},
        ]
        found = await mongo.aggregate(collection, pipeline, session=session)
        if not found:
            return totals
        totals = {name: total + int(found[0][name]) for name, total in totals.items()}
        last = found[0]["last"]


def _count_if(*fields: str) -> Document:
    """How many documents have all of these fields."""
    return {"$sum": {"$cond": [{"$and": [{"$gt": [f"${field}", None]} for field in fields]}, 1, 0]}}


def _runs_of(kind: str) -> Document:
    """The runs in the counters of tests or builds, without those of their days."""
    is_own = {"$regexMatch": {"input": "$_id", "regex": f":{kind}:[^:]+$"}}
    return {"$sum": {"$cond": [is_own, "$runs", 0]}}


_RUNS = {"runs": {"$sum": 1}, "with_build": _count_if("build_id"), "with_cell": _count_if("build_id", "app_id")}
_COUNTERS = {"tests": _runs_of("test"), "builds": _runs_of("build")}
_ACTIVE = {"$size": {"$objectToArray": "$active"}}
_CELLS = {"runs": {"$sum": {"$add": [*(f"${outcome.value}" for outcome in Outcome), _ACTIVE]}}}
