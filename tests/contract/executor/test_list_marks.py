"""Totals and far pages of executions read little of a long list, and are the same as without marks."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from services.chassis.context import current
from services.chassis.mongo import Mongo
from services.executor.storage.list_marks import ListMarks, list_index
from services.executor.storage.schema import LIST_MARKS

NOW = datetime(2026, 5, 1, tzinfo=UTC)
STEP = 50
ROWS = 4 * STEP + 50
QUERIES: tuple[dict[str, Any], ...] = ({}, {"status": "completed"}, {"search.branch": "main"})


def row(number: int, *, status: str = "completed", org_id: str = "", id_: str = "") -> dict[str, Any]:
    """Three of each moment, the newest first."""
    owner = org_id or current().org_id
    at = NOW - timedelta(hours=1, seconds=10 * (number // 3))
    fields = {"_id": f"{owner}-{id_ or f'{number:06}'}", "org_id": owner, "status": status, "created_at": at}
    return {**fields, "search": {"branch": "main"}}


@pytest.fixture
async def executions(mongo: Mongo) -> Any:
    """The collection, with the rows of the caller's organisation and of another one."""
    executions = mongo.collection("executions")
    await executions.delete_many({})
    await executions.insert_many([row(number) for number in range(ROWS)])
    await executions.insert_many([row(number, org_id="another") for number in range(STEP)])
    return executions


def marks_at(mongo: Mongo, moment: datetime) -> ListMarks:
    async def now() -> datetime:
        return moment

    return ListMarks(mongo, now, step=STEP)


@pytest.fixture
def marks(mongo: Mongo, executions: Any) -> ListMarks:
    return marks_at(mongo, NOW)


async def stored_marks(mongo: Mongo) -> list[dict[str, Any]]:
    """The newest first."""
    own = mongo.collection(LIST_MARKS).find({"org_id": current().org_id})
    documents: list[dict[str, Any]] = await own.sort("at", -1).to_list(None)
    return documents


async def ids(executions: Any, query: dict[str, Any], skip: int) -> list[str]:
    newest = executions.find({"org_id": current().org_id, **query}, {"_id": 1})
    documents = await newest.sort([("created_at", -1), ("_id", -1)]).skip(skip).limit(20).to_list(None)
    return [document["_id"] for document in documents]


@pytest.mark.parametrize("query", QUERIES)
async def test_totals_and_pages_are_the_same_as_without_marks(
    mongo: Mongo, executions: Any, marks: ListMarks, query: dict[str, Any]
) -> None:
    assert await marks.count(query) == ROWS
    assert await stored_marks(mongo)
    for offset in (0, 20, STEP, STEP + 20, 2 * STEP, 3 * STEP + 1, ROWS - 20, ROWS - 1, ROWS):
        near, skipped = await marks.locate(query, offset, await marks.count(query))
        assert await ids(executions, near, skipped) == await ids(executions, query, offset)


async def test_later_executions_are_counted(executions: Any, marks: ListMarks) -> None:
    await marks.count({})
    await executions.insert_many([row(-3 * number, status="failed", id_=f"newer-{number}") for number in range(STEP)])
    assert await marks.count({}) == ROWS + STEP
    assert await marks.count({"status": "failed"}) == STEP


async def test_there_is_no_mark_after_an_open_execution(mongo: Mongo, executions: Any, marks: ListMarks) -> None:
    """It will leave its list, and enter that of another status."""
    open_ = row(2 * STEP, status="running", id_="open")
    await executions.insert_one(open_)
    assert await marks.count({"status": "completed"}) == ROWS
    assert (await stored_marks(mongo))[0]["at"] <= open_["created_at"]
    await executions.update_one({"_id": open_["_id"]}, {"$set": {"status": "completed"}})
    assert await marks.count({"status": "completed"}) == ROWS + 1


async def test_there_is_no_mark_where_a_start_may_still_be_stored(mongo: Mongo, executions: Any) -> None:
    now = NOW - timedelta(hours=1)
    await marks_at(mongo, now).count({})
    assert (await stored_marks(mongo))[0]["at"] < now - timedelta(minutes=5)


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


@pytest.mark.parametrize("of", [{"workflow_id": "nightly"}, {"app_ids": "shop"}])
async def test_few_failures_are_found_without_reading_the_others(executions: Any, of: dict[str, Any]) -> None:
    failed = {**row(ROWS, status="failed"), "workflow_id": "nightly", "app_ids": ["shop"]}
    await executions.insert_one(failed)
    query = {"org_id": current().org_id, **of, "status": "failed"}
    newest = executions.find(query).sort([("created_at", -1), ("_id", -1)])
    explained = await newest.hint(list_index(query)).explain()
    read = explained["executionStats"]
    assert (read["nReturned"], read["totalKeysExamined"], read["totalDocsExamined"]) == (1, 1, 1)
