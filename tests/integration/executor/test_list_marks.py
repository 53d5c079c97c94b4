"""Totals and far pages of executions read little of a long list, and are the same as without marks."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from services.chassis.context import Caller, bind
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.executor.storage.list_marks import STEP, ListMarks, list_index
from services.executor.storage.schema import LIST_MARKS, MIGRATIONS

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ROWS = 4 * STEP + 50
QUERIES: tuple[dict[str, Any], ...] = ({}, {"status": "completed"}, {"ci.branch": "main"})
ORG = "org-1"


def row(number: int, *, status: str = "completed", org_id: str = ORG) -> dict[str, Any]:
    """Three of each moment, the newest first."""
    at = NOW - timedelta(hours=1, seconds=number // 3)
    fields = {"_id": f"{org_id}-{number:06}", "org_id": org_id, "status": status, "created_at": at}
    return {**fields, "ci": {"branch": "main"}}


@pytest.fixture
async def mongo(mongo_uri: str, mongo_database: str) -> AsyncIterator[Mongo]:
    async with open_migrated(mongo_uri, mongo_database, MIGRATIONS) as mongo:
        await mongo.collection("executions").insert_many([row(number) for number in range(ROWS)])
        await mongo.collection("executions").insert_many([row(number, org_id="org-2") for number in range(STEP)])
        with bind(Caller(ORG)):
            yield mongo


@pytest.fixture
def marks(mongo: Mongo) -> ListMarks:
    async def now() -> datetime:
        return NOW

    return ListMarks(mongo, now)


async def ids(mongo: Mongo, query: dict[str, Any], skip: int) -> list[str]:
    newest = mongo.collection("executions").find({"org_id": ORG, **query}, {"_id": 1})
    found = await newest.sort([("created_at", -1), ("_id", -1)]).skip(skip).limit(20).to_list(None)
    return [document["_id"] for document in found]


@pytest.mark.parametrize("query", QUERIES)
async def test_totals_and_pages_are_the_same_as_without_marks(
    mongo: Mongo, marks: ListMarks, query: dict[str, Any]
) -> None:
    assert await marks.count(query) == ROWS
    assert await mongo.collection(LIST_MARKS).count_documents({}) > 0
    for offset in (0, 20, STEP, STEP + 20, 2 * STEP, 3 * STEP + 1, ROWS - 20, ROWS - 1, ROWS):
        near, skipped = await marks.locate(query, offset, await marks.count(query))
        assert await ids(mongo, near, skipped) == await ids(mongo, query, offset)


async def test_later_executions_are_counted(mongo: Mongo, marks: ListMarks) -> None:
    await marks.count({})
    newer = [row(-3 * number, status="failed") | {"_id": f"newer-{number}"} for number in range(STEP)]
    await mongo.collection("executions").insert_many(newer)
    assert await marks.count({}) == ROWS + STEP
    assert await marks.count({"status": "failed"}) == STEP


async def test_there_is_no_mark_after_an_open_execution(mongo: Mongo, marks: ListMarks) -> None:
    """It will leave its list, and enter that of another status."""
    open_ = row(2 * STEP) | {"_id": "open", "status": "running"}
    await mongo.collection("executions").insert_one(open_)
    assert await marks.count({"status": "completed"}) == ROWS
    found = await mongo.collection(LIST_MARKS).find({}).sort("at", -1).to_list(None)
    assert found
    assert found[0]["at"] <= open_["created_at"]
    await mongo.collection("executions").update_one({"_id": "open"}, {"$set": {"status": "completed"}})
    assert await marks.count({"status": "completed"}) == ROWS + 1


async def test_there_is_no_mark_where_a_start_may_still_be_stored(mongo: Mongo) -> None:
    async def now() -> datetime:
        return NOW - timedelta(hours=1)

    early = ListMarks(mongo, now)
    await early.count({})
    found = await mongo.collection(LIST_MARKS).find({}).to_list(None)
    assert max(mark["at"] for mark in found) < NOW - timedelta(hours=1, minutes=5)


async def test_a_marked_list_is_counted_by_few_keys(
    mongo: Mongo, marks: ListMarks, mongo_client: MongoClient[dict[str, Any]]
) -> None:
    await marks.count({})
    await mongo.database.command("profile", 2)
    assert await marks.count({}) == ROWS
    await mongo.database.command("profile", 0)
    profile = mongo_client[mongo.database.name]["system.profile"]
    keys = [operation["keysExamined"] for operation in profile.find({"planSummary": {"$exists": True}})]
    profile.drop()
    assert keys
    assert sum(keys) < 4 * STEP


@pytest.mark.parametrize("of", [{"ci.branch": "main"}, {"workflow_id": "nightly"}, {"app_ids": "shop"}])
async def test_few_failures_are_found_without_reading_the_others(mongo: Mongo, of: dict[str, Any]) -> None:
    failed = {**row(ROWS, status="failed"), "workflow_id": "nightly", "app_ids": ["shop"]}
    await mongo.collection("executions").insert_one(failed)
    query = {"org_id": ORG, **of, "status": "failed"}
    newest = mongo.collection("executions").find(query).sort([("created_at", -1), ("_id", -1)])
    explained = await newest.hint(list_index(query)).explain()
    read = explained["executionStats"]
    assert (read["nReturned"], read["totalKeysExamined"], read["totalDocsExamined"]) == (1, 1, 1)
