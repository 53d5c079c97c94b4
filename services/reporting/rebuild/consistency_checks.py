"""Sums of a generation that must agree, since each run is counted once in each of them."""

from collections.abc import Mapping
from typing import Any

from services.chassis.mongo import Document, Mongo, Session
from services.reporting.model.snapshots import Outcome
from services.reporting.rebuild.state import Difference
from services.reporting.storage.documents import CELLS, COUNTERS, RUNS
from services.reporting.storage.generations import collection_name

PIECE = 100_000
"""Documents that are added up at once: seconds, also from a disk, where a connection bears 20."""


async def find_inconsistencies(mongo: Mongo, generation: int, piece: int = PIECE) -> list[Difference]:
    """The sums that do not agree at one moment: `recounted` is how many runs there are, `serving` what was counted."""

    async def work(session: Session) -> list[Difference]:
        sums = _Sums(mongo, generation, session, piece)
        runs, counters = await sums.of(RUNS.collection, _RUNS), await sums.of(COUNTERS, _COUNTERS)
        cells = await sums.of(CELLS.collection, _CELLS)
        counted = {
            "runs of tests": (counters["tests"], runs["runs"]),
            "runs of builds": (counters["builds"], runs["built"]),
            "runs in cells": (cells["runs"], runs["placed"]),
        }
        return [
            Difference("sums", name, "", str(ours), str(theirs))
            for name, (ours, theirs) in counted.items()
            if ours != theirs
        ]

    return await mongo.snapshot(work)


class _Sums:
    """Adds up collections of a generation, each piece by piece, for no single question may take long."""

    def __init__(self, mongo: Mongo, generation: int, session: Session, piece: int) -> None:
        self._mongo = mongo
        self._generation = generation
        self._session = session
        self._piece = piece

    async def of(self, collection: str, sums: Mapping[str, Any]) -> dict[str, int]:
        """The sums of all documents."""
        found, after = dict.fromkeys(sums, 0), ""
        while piece := await self._next(collection, sums, after):
            found = {name: found[name] + int(piece[name]) for name in sums}
            after = piece["last"]
        return found

    async def _next(self, collection: str, sums: Mapping[str, Any], after: str) -> Document | None:
        pipeline: list[Document] = [
            {"$match": {"_id": {"$gt": after}}},
            {"$sort": {"_id": 1}},
            {"$limit": self._piece},
            {"$group": {"_id": None, "last": {"$max": "$_id"}, **sums}},
        ]
        found = await self._mongo.aggregate(
            collection_name(collection, self._generation), pipeline, session=self._session
        )
        return found[0] if found else None


def _one_if(*fields: str) -> Document:
    """1 for a document that has all of these."""
    return {"$sum": {"$cond": [{"$and": [{"$gt": [f"${field}", None]} for field in fields]}, 1, 0]}}


def _runs_of(kind: str) -> Document:
    """What the counters of tests or builds say, without those of their days."""
    is_one = {"$regexMatch": {"input": "$_id", "regex": f":{kind}:[^:]+$"}}
    return {"$sum": {"$cond": [is_one, "$runs", 0]}}


_RUNS = {"runs": {"$sum": 1}, "built": _one_if("build_id"), "placed": _one_if("build_id", "app_id")}
_COUNTERS = {"tests": _runs_of("test"), "builds": _runs_of("build")}
_UNDER_WAY = {"$size": {"$objectToArray": "$active"}}
_CELLS = {"runs": {"$sum": {"$add": [*(f"${outcome.value}" for outcome in Outcome), _UNDER_WAY]}}}
