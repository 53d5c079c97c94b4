"""Compares two generations document by document, and the totals of one that must agree: each counts each run once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from google.protobuf.json_format import MessageToDict
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.mongo import Document, Mongo, Session
from services.reporting.model.snapshots import Outcome, Status
from services.reporting.rebuild.ports import ComparisonPage
from services.reporting.rebuild.state import Difference
from services.reporting.storage.documents import CELLS, COUNTERS, RUNS, TABLE_CODECS
from services.reporting.storage.generations import collection_name

COLLECTIONS = (*dict.fromkeys(codec.collection for codec in TABLE_CODECS), COUNTERS)
TEXT_LENGTH = 500
# Documents that one query adds up: it takes seconds even from a disk, and a query may take 20.
SUMMED_AT_ONCE = 100_000

# The serving one and the recounted one.
Generations = tuple[int, int]
# A document as it serves and as it was recounted.
Pair = tuple[Document | None, Document | None]

# Fields that may differ: executor and catalog also count revisions that change nothing visible and publish no event,
# and an attachment keeps the name that its test had at the time (reports show the test's own).
_IGNORED_FIELDS: Mapping[str, Sequence[str]] = {
    "runs": ("revision",),
    "executions": ("revision",),
    "tests": ("revision",),
    "attachments": ("test_name",),
}


async def compare_page(
    mongo: Mongo, collection: str, generations: Generations, after: str, limit: int
) -> ComparisonPage:
    """Compare about `limit` documents with ids after this one, in one snapshot."""
    serving, recounted = await _read(mongo, collection, generations, {"_id": {"$gt": after}}, limit)
    last = min((page[-1]["_id"] for page in (serving, recounted) if len(page) == limit), default="")
    pairs = [(key, pair) for key, pair in _pairs(serving, recounted) if not last or key <= last]
    return ComparisonPage(len(pairs), _differences(collection, pairs), last)


async def find_differences(
    mongo: Mongo, collection: str, generations: Generations, ids: Sequence[str]
) -> list[Difference]:
    """How these documents differ, in one snapshot."""
    serving, recounted = await _read(mongo, collection, generations, {"_id": {"$in": list(ids)}}, 0)
    return _differences(collection, _pairs(serving, recounted))


async def _read(
    mongo: Mongo, collection: str, generations: Generations, query: Document, limit: int
) -> list[list[Document]]:
    async def work(session: Session) -> list[list[Document]]:
        pages = []
        for generation in generations:
            documents = mongo.collection(collection_name(collection, generation)).find(query, session=session)
            pages.append(await documents.sort([("_id", 1)]).limit(limit).to_list(None))
        return pages

    return await mongo.snapshot(work)


def _pairs(serving: Sequence[Document], recounted: Sequence[Document]) -> Iterator[tuple[str, Pair]]:
    """The documents of both by id, in its order."""
    before = {document["_id"]: document for document in serving}
    after = {document["_id"]: document for document in recounted}
    return ((key, (before.get(key), after.get(key))) for key in sorted(before.keys() | after.keys()))


def _differences(collection: str, pairs: Iterable[tuple[str, Pair]]) -> list[Difference]:
    return [
        Difference(collection, key, field, _text(before), _text(after))
        for key, pair in pairs
        for field, before, after in _differing_fields(collection, *pair)
    ]


def _differing_fields(
    collection: str, serving: Document | None, recounted: Document | None
) -> list[tuple[str, Any, Any]]:
    """(field, serving, recounted) of what differs; the field is empty when one of the documents is missing."""
    if serving == recounted:
        return []
    before, after = _comparable(collection, serving), _comparable(collection, recounted)
    if before == after:
        return []
    if before is None or after is None:
        return [("", before, after)]
    names = sorted(before.keys() | after.keys())
    return [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def _comparable(collection: str, document: Document | None) -> Document | None:
    """The document without what may differ. A counter whose fields are all 0 equals a missing one."""
    if document is None:
        return None
    ignored = ("_id", *_IGNORED_FIELDS.get(collection, ()))
    kept = {name: value for name, value in document.items() if name not in ignored}
    if collection == COUNTERS:
        kept = {name: value for name, value in kept.items() if value != 0}
        return kept if kept.keys() - {"org_id"} else None
    if "list_item" in kept:
        kept["list_item"] = _list_item(kept["list_item"])
    if "ended_runs" in kept:
        kept["ended_runs"] = sorted(kept["ended_runs"])
    return kept


def _list_item(content: bytes) -> Document | str:
    """A run as lists show it, without links to artifacts: no event says that an artifact was deleted. Nor is the
    fingerprint compared, which follows from the failure and which runs of earlier versions do not have.
    """
    try:
        item = MessageToDict(reports_pb2.BuildRunItem.FromString(content), preserving_proto_field_name=True)
    except Exception:
        return repr(content)
    item.get("report_metadata", {}).pop("artifacts", None)
    item.pop("failure_fingerprint", None)
    return item


def _text(value: Any) -> str:
    """The value as JSON, truncated."""
    return "" if value is None else orjson.dumps(value, default=repr).decode()[:TEXT_LENGTH]


async def find_inconsistencies(mongo: Mongo, generation: int, batch: int = SUMMED_AT_ONCE) -> list[Difference]:
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
        for status, ended in _ENDED.items():
            totals |= {
                f"{status.value} runs of builds": (counters[f"builds_{ended}"], runs[f"with_build_{ended}"]),
                f"{status.value} runs in cells": (cells[ended], runs[f"with_cell_{ended}"]),
                f"{status.value} runs by day": (counters[f"days_{ended}"], runs[f"with_app_{ended}"]),
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
        rows = await mongo.aggregate(collection, pipeline, session=session)
        if not rows:
            return totals
        totals = {name: total + int(rows[0][name]) for name, total in totals.items()}
        last = rows[0]["last"]


def _count_if(*fields: str, status: Status | None = None) -> Document:
    """How many documents have all of these fields, and the status."""
    conditions = [{"$gt": [f"${field}", None]} for field in fields]
    is_in = [] if status is None else [{"$eq": ["$status", status.value]}]
    return {"$sum": {"$cond": [{"$and": [*conditions, *is_in]}, 1, 0]}}


def _counted_of(kind: str, *fields: str) -> Document:
    """The sum of these fields in the counters of tests or builds, without those of their days."""
    is_own = {"$regexMatch": {"input": "$_id", "regex": f":{kind}:[^:]+$"}}
    return {"$sum": {"$cond": [is_own, {"$add": [{"$ifNull": [f"${field}", 0]} for field in fields]}, 0]}}


def _counted_by_day(*names: str) -> Document:
    """The sum of the fields <DD>_<name> in the counters of the months of apps."""
    is_month = {"$regexMatch": {"input": "$_id", "regex": ":app:[^:]+:[0-9]{4}-[0-9]{2}$"}}
    is_named = {"$regexMatch": {"input": "$$this.k", "regex": f"^[0-9]{{2}}_({'|'.join(names)})$"}}
    added = {"$add": ["$$value", {"$cond": [is_named, "$$this.v", 0]}]}
    amounts = {"$reduce": {"input": {"$objectToArray": "$$ROOT"}, "initialValue": 0, "in": added}}
    return {"$sum": {"$cond": [is_month, amounts, 0]}}


# Passed and failed runs add up to the completed ones; rates are of these.
_ENDED = {
    Status.COMPLETED: "verdicts",
    Status.FAILED: "no_verdict",
    Status.CANCELLED: "cancelled",
}
_OUTCOMES = {
    "verdicts": (Outcome.PASSED.value, Outcome.FAILED.value),
    "no_verdict": (Outcome.INFRA_FAILED.value,),
    "cancelled": (Outcome.CANCELLED.value,),
}
_RUNS = {
    "runs": {"$sum": 1},
    "with_build": _count_if("build_id"),
    "with_cell": _count_if("build_id", "app_id"),
    **{f"with_build_{ended}": _count_if("build_id", status=status) for status, ended in _ENDED.items()},
    **{f"with_cell_{ended}": _count_if("build_id", "app_id", status=status) for status, ended in _ENDED.items()},
    **{f"with_app_{ended}": _count_if("app_id", status=status) for status, ended in _ENDED.items()},
}
_COUNTERS = {
    "tests": _counted_of("test", "runs"),
    "builds": _counted_of("build", "runs"),
    **{f"builds_{ended}": _counted_of("build", *outcomes) for ended, outcomes in _OUTCOMES.items()},
    **{f"days_{ended}": _counted_by_day(*outcomes) for ended, outcomes in _OUTCOMES.items()},
}
_CELLS = {
    "runs": {"$sum": {"$add": [*(f"${outcome.value}" for outcome in Outcome), "$active_run_count"]}},
    **{ended: {"$sum": {"$add": [f"${name}" for name in outcomes]}} for ended, outcomes in _OUTCOMES.items()},
}
