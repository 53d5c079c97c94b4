"""Many apps, builds, tests and executions of an organisation: copies, made by MongoDB, of documents of the services."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from examples.client import Client
from services.catalog.model.text import SUFFIX_LIMIT
from services.catalog.storage.documents import SUFFIXES
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.mongo import Document, Mongo
from services.executor.storage.list_marks import NEW_MARKS, STEP, ListMarks

BATCH = 100_000
START = "execution/api/execute_workflow_id_async"
COLOURS = ("Red", "Blue", "Green", "White", "Black", "Amber", "Coral", "Ivory", "Olive", "Pearl")
KINDS = ("wallet", "shop", "music", "travel", "news", "chess", "radio", "hotel", "photo", "fleet")
# Lists of executions that are asked for. They get their marks while the rows come, thus before.
MARKED: Sequence[Document] = (
    {},
    {"status": "failed"},
    {"search.branch": "branch-7"},
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The ids of what was made through REST."""

    app_id: str
    test_id: str
    build_id: str
    workflow_id: str
    execution_id: str


@dataclass(frozen=True, slots=True)
class Rows:
    """How many copies of each an organisation gets. Names are the slowest to index."""

    named: int
    others: int


async def plant(client: Client) -> Origin:
    """One of each, through REST."""
    app = await client.call("POST", "apps", json={"name": "Original", "platform": "Android", "description": "A shop"})
    build = await client.upload(app["id"], {"version": "1.0.0", "file": "app.bin", "commit": "4f2c1d9"}, b"artifact")
    test = await client.call("POST", "tests", json={"name": "Launch", "steps": ["launchApp"], "tags": ["smoke"]})
    await client.call("PUT", f"apps/{app['id']}/tests/{test['id']}", json={})
    workflow = await client.call("POST", "workflows", json={"name": "One", "test_ids": [test["id"]]})
    started = await client.call("POST", START, json={"workflow_id": workflow["id"]})
    while not (await client.call("GET", f"executions/{started['id']}", params={"wait": 30}))["completed_at"]:
        pass
    return Origin(app["id"], test["id"], build["id"], workflow["id"], started["id"])


async def fill(catalog: Mongo, executor: Mongo, wanted: Sequence[tuple[Origin, Rows]]) -> None:
    """Copies of each origin, older than the original, and the counters and marks that go with them."""
    await asyncio.gather(_fill_catalog(catalog, wanted), _fill_executor(executor, wanted))


async def _fill_catalog(mongo: Mongo, wanted: Sequence[tuple[Origin, Rows]]) -> None:
    async with _unindexed(mongo, "apps"), _unindexed(mongo, "tests"), _unindexed(mongo, "builds"):
        for origin, rows in wanted:
            tags = {"tags": [_text("tag-", _digit(100))]}
            await _copy(mongo, "apps", origin.app_id, rows.named, {**_named(), "versions_count": 0})
            await _copy(mongo, "tests", origin.test_id, rows.named, {**_named(), **tags})
            await _copy(mongo, "builds", origin.build_id, rows.others, _build())
    for origin, rows in wanted:
        await _count(mongo, origin, rows)


async def _fill_executor(mongo: Mongo, wanted: Sequence[tuple[Origin, Rows]]) -> None:
    async with _unindexed(mongo, "executions"):
        for origin, rows in wanted:
            await _copy(mongo, "executions", origin.execution_id, rows.others, _execution())
    for origin, rows in wanted:
        await _mark(mongo, origin, rows.others)


@asynccontextmanager
async def _unindexed(mongo: Mongo, collection: str) -> AsyncIterator[None]:
    """Without indexes, which are built much faster afterwards."""
    rows = mongo.collection(collection)
    indexes = (await (await rows.list_indexes()).to_list())[1:]
    await rows.drop_indexes()
    yield
    await mongo.database.command({"createIndexes": collection, "indexes": [dict(index) for index in indexes]})


async def _copy(mongo: Mongo, collection: str, id_: str, rows: int, varied: Mapping[str, Any]) -> None:
    original = await mongo.collection(collection).find_one({"_id": id_})
    times = {name: _earlier(original[name]) for name in ("created_at", "uploaded_at") if name in original}
    stages: list[Document] = [
        {"$set": {name: {"$literal": value} for name, value in original.items() if name not in ("_id", *times)}},
        {"$set": {"_id": _text("$n", "-", id_), **varied, **times}},
    ]
    if "name" in varied:
        stages += [{"$set": {"name_folded": {"$toLower": "$name"}}}, {"$set": {SUFFIXES: _suffixes()}}]
    merge = {"into": collection, "whenMatched": "fail"}
    for first in range(0, rows, BATCH):
        numbers = {"n": {"$range": [first, min(first + BATCH, rows)]}}
        pipeline = [{"$documents": [numbers]}, {"$unwind": "$n"}, *stages, {"$unset": "n"}, {"$merge": merge}]
        await mongo.database.command(
            {"aggregate": 1, "pipeline": pipeline, "cursor": {}, "bypassDocumentValidation": True}
        )


def _text(*parts: Any) -> Document:
    return {"$concat": [{"$toString": part} for part in parts]}


def _digit(base: int, after: int = 1) -> Document:
    """The number modulo `base`, after a division."""
    return {"$mod": [{"$toInt": {"$divide": ["$n", after]}}, base]}


def _earlier(time: datetime) -> Document:
    return {"$subtract": [time, {"$multiply": [{"$toLong": {"$add": ["$n", 1]}}, 1000]}]}


def _suffixes() -> Document:
    starts = {"$range": [0, {"$strLenCP": "$name_folded"}]}
    return {"$setUnion": [{"$map": {"input": starts, "in": {"$substrCP": ["$name_folded", "$$this", SUFFIX_LIMIT]}}}]}


def _named() -> Document:
    colour, kind = {"$arrayElemAt": [COLOURS, _digit(10)]}, {"$arrayElemAt": [KINDS, _digit(10, after=10)]}
    platform = {"$arrayElemAt": [("iOS", "Android"), _digit(2)]}
    return {"name": _text(colour, " ", "$n", " ", kind), "platform": platform}


def _build() -> Document:
    return {"version": _text("1.0.", {"$add": ["$n", 1]})}


def _execution() -> Document:
    return {
        "ci.branch": _text("branch-", _digit(20)),
        "ci.commit_sha": _text("commit-", {"$toInt": {"$divide": ["$n", 3]}}),
        "search.branch": _text("branch-", _digit(20)),
        "search.commit": _text("commit-", {"$toInt": {"$divide": ["$n", 3]}}),
        "ci.pr_number": {"$add": [{"$toInt": {"$divide": ["$n", 10]}}, 1]},
        "status": {"$cond": [{"$eq": [_digit(10), 0]}, "failed", "$status"]},
        "result": {"$cond": [{"$eq": [_digit(10), 0]}, "no_verdict", "$result"]},
    }


async def _count(catalog: Mongo, origin: Origin, rows: Rows) -> None:
    org_id = (await catalog.collection("apps").find_one({"_id": origin.app_id}))["org_id"]
    counts = {"ios": rows.named - rows.named // 2, "android": rows.named // 2, "tests": rows.named}
    await catalog.collection("counters").update_one({"org_id": org_id}, {"$inc": counts})
    await catalog.collection("apps").update_one({"_id": origin.app_id}, {"$inc": {"versions_count": rows.others}})


async def _mark(executor: Mongo, origin: Origin, rows: int) -> None:
    async def now() -> datetime:
        return datetime.now(UTC)

    org_id = (await executor.collection("executions").find_one({"_id": origin.execution_id}))["org_id"]
    marks = ListMarks(executor, now)
    with bind(Caller(org_id, scopes=ALL_SCOPES)):
        for listed in MARKED:
            for _ in range(rows // (STEP * NEW_MARKS) + 1):
                if await marks.count(listed) < STEP:
                    break
