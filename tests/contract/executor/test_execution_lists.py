"""Lists of executions: texts by prefix, results, times and orders, alone and together, and how much is searched."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient

from mobiletest_automation.model.states import Status
from services.chassis.context import current
from services.chassis.mongo import Mongo
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.executions import Execution, ExecutionKind, ExecutionResult
from services.executor.ports.executions import ExecutionFilter, ExecutionOrder, ExecutionPage, Page
from services.executor.storage.execution_lists import ExecutionLists
from services.executor.storage.list_fields import fill_list_fields
from services.executor.storage.records import execution_document
from services.executor.storage.run_counts import MongoRunCounts
from services.executor.storage.schema import index_lists

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SHA = "4f2c1d9aa0b3"
WINDOW, VALUES = 20, 3


def execution(name: str, minutes: int, **fields: Any) -> Execution:
    """Started so many minutes before NOW."""
    ids = {"id": f"{current().org_id}-{name}-{minutes}", "org_id": current().org_id}
    kinds = {"kind": ExecutionKind.TEST, "source": ExecutionSource.CI, "created_at": NOW - timedelta(minutes=minutes)}
    return Execution(**{**ids, **kinds, "name": name, **fields})


@pytest.fixture
def lists(mongo: Mongo) -> ExecutionLists:
    async def now() -> datetime:
        return NOW

    return ExecutionLists(mongo, now, window=WINDOW, values=VALUES)


async def store(mongo: Mongo, *executions: Execution) -> None:
    await mongo.collection("executions").insert_many([execution_document(each) for each in executions])


async def found(lists: ExecutionLists, **wanted: Any) -> list[str | None]:
    page = await lists.page(ExecutionFilter(**wanted), Page(1, 100))
    assert page.total == len(page.items)
    return [each.title for each in page.items]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"commit_sha": SHA[:9]}, ["Nightly"]),
        ({"commit_sha": f"  {SHA[:9].upper()} "}, ["Nightly"]),
        ({"commit_sha": SHA[1:9]}, []),
        ({"branch": "FEATURE/ö"}, ["Nightly"]),
        ({"branch": ".*"}, []),
        ({"branch": "f"}, ["Nightly", "Smoke"]),
        ({"branch": " "}, ["Nightly", "Smoke", "Pay by card"]),
        ({"name": "pay"}, ["Pay by card"]),
        ({"ci_run_id": "77"}, ["Smoke"]),
        ({"started_by": "ann"}, ["Smoke"]),
        ({"rerun_of": "earlier"}, ["Pay by card"]),
        ({"superseded_by": "newer"}, ["Smoke"]),
        ({"branch": "f", "name": "s", "ci_run_id": "7"}, ["Smoke"]),
        ({"branch": "f", "started_by": "bob"}, []),
        ({"branch": "FIX", "exact": True}, []),
        ({"branch": " fix", "exact": True}, ["Smoke"]),
        ({"branch": "fi", "exact": True}, []),
        ({"started_by": "anna", "name": "smoke", "exact": True}, ["Smoke"]),
        ({"created_before": NOW - timedelta(seconds=59)}, ["Smoke", "Pay by card"]),
        ({"created_after": NOW - timedelta(minutes=2), "branch": "f"}, ["Nightly", "Smoke"]),
        ({"order": ExecutionOrder.OLDEST}, ["Pay by card", "Smoke", "Nightly"]),
        ({"order": ExecutionOrder.LONGEST}, ["Smoke", "Pay by card", "Nightly"]),
    ],
)
async def test_filters(mongo: Mongo, lists: ExecutionLists, wanted: dict[str, Any], expected: list[str]) -> None:
    spans = {"started_at": NOW, "completed_at": NOW + timedelta(seconds=9)}
    card = execution("", 9, test_name="Pay by card", rerun_of="earlier", completed_at=NOW, started_at=NOW)
    smoke = execution("Smoke", 1, ci=Ci(branch="fix", run_id="777"), started_by="Anna", superseded_by="newer", **spans)
    nightly = execution("Nightly", 0, ci=Ci(branch="feature/Ö", commit_sha=SHA))
    await store(mongo, card, smoke, nightly)
    assert await found(lists, **wanted) == expected


async def test_results(mongo: Mongo, lists: ExecutionLists) -> None:
    ended = {
        Status.COMPLETED: (True, False),
        Status.FAILED: (None,),
        Status.CANCELLED: (None,),
        Status.RUNNING: (None,),
    }
    states = [{"status": status, "success": success} for status, verdicts in ended.items() for success in verdicts]
    await store(mongo, *(execution(f"{number}", number, **state) for number, state in enumerate(states)))
    await store(mongo, execution("flaky", 9, status=Status.COMPLETED, success=False, flaky_runs=1))
    listed = {result.value: await found(lists, result=result) for result in ExecutionResult}
    assert listed == {
        "passed": ["0"],
        "failed": ["1", "flaky"],
        "no_verdict": ["2"],
        "cancelled": ["3"],
        "running": ["4"],
        "flaky": ["flaky"],
    }


async def many(mongo: Mongo) -> None:
    """Twice as many as are searched, on more branches than may lead; every tenth has failed."""
    rows = [
        execution(f"{n:02}", n, ci=Ci(branch=f"b{n % 5}"), status=Status.COMPLETED, success=n % 10 != 0)
        for n in range(2 * WINDOW)
    ]
    await store(mongo, *rows)


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({"branch": "b", "result": ExecutionResult.FAILED}, [0, 10, 20, 30]),  # leads by the result: all are searched
        ({"branch": "b", "order": ExecutionOrder.NEWEST}, range(WINDOW)),
        ({"branch": "b", "order": ExecutionOrder.OLDEST}, range(2 * WINDOW - 1, WINDOW - 1, -1)),
        ({"branch": "b", "created_before": NOW - timedelta(minutes=WINDOW - 1)}, range(WINDOW, 2 * WINDOW)),
        ({"branch": "b1", "name": "0"}, [1, 6]),
    ],
)
async def test_a_limited_number_is_searched(
    mongo: Mongo, lists: ExecutionLists, wanted: dict[str, Any], numbers: range | list[int]
) -> None:
    await many(mongo)
    page = await lists.page(ExecutionFilter(**wanted), Page(1, 100))
    assert [int(each.title or "") for each in page.items] == list(numbers)
    ends = {
        ExecutionOrder.NEWEST: NOW - timedelta(minutes=WINDOW - 1),
        ExecutionOrder.OLDEST: NOW - timedelta(minutes=WINDOW),
    }
    assert page.searched_until == ends.get(wanted.get("order"))


async def test_pages_continue_what_is_searched(mongo: Mongo, lists: ExecutionLists) -> None:
    await many(mongo)
    pages: list[ExecutionPage] = [
        await lists.page(ExecutionFilter(branch="b", order=order), Page(number, 7))
        for order in (ExecutionOrder.NEWEST, ExecutionOrder.LONGEST)
        for number in range(1, 5)
    ]
    assert [len(page.items) for page in pages] == [7, 7, 6, 0] * 2
    assert {page.total for page in pages} == {WINDOW}


async def test_old_executions_are_found_after_the_migration(mongo: Mongo, lists: ExecutionLists) -> None:
    old = execution("Nightly", 1, ci=Ci(commit_sha=SHA), status=Status.FAILED)
    document = execution_document(old)
    await mongo.collection("executions").insert_one(
        {k: v for k, v in document.items() if k not in ("search", "result")}
    )
    assert await found(lists, commit_sha=SHA) == []
    await fill_list_fields(mongo)
    assert await found(lists, commit_sha=SHA, result=ExecutionResult.NO_VERDICT) == ["Nightly"]


async def test_executions_of_an_older_process_are_found_after_the_upgrade(mongo: Mongo, lists: ExecutionLists) -> None:
    await index_lists(mongo)
    await many(mongo)
    late = execution_document(execution("Late", 1, ci=Ci(commit_sha=SHA), status=Status.FAILED))
    await mongo.collection("executions").insert_one({k: v for k, v in late.items() if k not in ("search", "result")})
    await mongo.collection("list_marks").insert_one({"_id": "counted without it"})
    counts = MongoRunCounts(mongo)
    await counts.plan_recount(timedelta())
    await counts.recount_if_due()
    assert await found(lists, commit_sha=SHA, result=ExecutionResult.NO_VERDICT) == ["Late"]
    assert await mongo.collection("list_marks").count_documents({}) == 0


async def test_a_text_is_found_by_few_keys(
    mongo: Mongo, lists: ExecutionLists, mongo_client: MongoClient[dict[str, Any]]
) -> None:
    await store(mongo, *(execution("Smoke", n, ci=Ci(branch="main", commit_sha=f"{n:03}")) for n in range(300)))
    await mongo.database.command("profile", 2)
    for wanted in ({"commit_sha": "007"}, {"commit_sha": "0"}, {"branch": "main", "commit_sha": "0"}):
        await lists.page(ExecutionFilter(**wanted), Page(1, 100))
    await mongo.database.command("profile", 0)
    profile = mongo_client[mongo.database.name]["system.profile"]
    read = [operation["keysExamined"] for operation in profile.find({"planSummary": {"$exists": True}})]
    profile.drop()
    assert read
    assert max(read) <= 2 * WINDOW
