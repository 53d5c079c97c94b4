"""How many runs an organisation has started today and has stored."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.context import current
from services.executor.model.changes import start_execution
from services.executor.model.organisation_limits import StartedRuns
from services.executor.model.runs import PLAN_BYTES
from services.executor.storage.run_counts import MongoRunCounts
from services.executor.storage.schema import RUN_COUNTS
from services.executor.usecases.starts import ExecutionStarter
from tests.contract.executor.conftest import World, world_on
from tests.contract.executor.executions import runs_of, start
from tests.fakes.executor import FakeCatalog, plan


@pytest.fixture
async def today(world: World) -> date:
    return (await world.executions.now()).date()


async def test_runs_are_counted_with_their_execution(world: World, today: date) -> None:
    """Of the caller's organisation, also those that have ended; another day has none of them."""
    await start(world, plan(), plan())
    await world.executions.cancel((await start(world, plan())).id)
    await start(world, plan(), org_id="another")
    assert await world.executions.started_runs(today) == StartedRuns(3, 3)
    assert await world.executions.started_runs(today + timedelta(days=1)) == StartedRuns(0, 3)


async def test_a_run_with_a_large_plan_counts_as_several(world: World, today: date) -> None:
    """Also when it is run or counted again."""
    first = await start(world, replace(plan(config_error="Attach it."), size_bytes=3 * PLAN_BYTES), plan())
    assert await world.executions.started_runs(today) == StartedRuns(5, 5)
    [large, _] = await runs_of(world, first)
    await ExecutionStarter(FakeCatalog(), world.executions).rerun(first.id, failed_only=False, run_ids=[large.id])
    assert await MongoRunCounts(world.mongo).recount() == 0
    assert await world.executions.started_runs(today) == StartedRuns(9, 9)


async def test_a_new_day_begins_with_no_runs(world: World, today: date) -> None:
    await start(world, plan(), plan())
    yesterday = {"$set": {"day": (today - timedelta(days=1)).isoformat()}}
    await world.mongo.collection(RUN_COUNTS).update_many({"org_id": current().org_id}, yesterday)
    await start(world, plan())
    assert await world.executions.started_runs(today) == StartedRuns(1, 3)


async def test_starts_of_several_processes_are_all_counted(world: World, today: date) -> None:
    worlds = [world, *(world_on(world.mongo) for _ in range(3))]
    await asyncio.gather(*(start(each) for each in worlds for _ in range(10)))
    assert await world.executions.started_runs(today) == StartedRuns(40, 40)


async def test_an_execution_that_exists_already_is_not_counted_again(world: World, today: date) -> None:
    execution = await start(world, plan())
    plans = await world.executions.plans_of(execution.id)
    runs = await world.executions.all_runs(execution.id)
    await world.executions.add(start_execution(execution, runs, execution.created_at), plans)
    assert await world.executions.started_runs(today) == StartedRuns(1, 1)


async def test_runs_that_an_older_version_stored_are_counted_afterwards(world: World, today: date) -> None:
    await start(world, plan(), plan())
    await start(world, plan(), org_id="another")
    await world.mongo.collection(RUN_COUNTS).delete_many({})
    await start(world, plan())
    counts = MongoRunCounts(world.mongo)
    assert await asyncio.gather(counts.recount(), counts.recount()) != [0, 0]
    assert await world.executions.started_runs(today) == StartedRuns(1, 3)
    assert await counts.recount() == 0
    await start(world, plan())
    assert await world.executions.started_runs(today) == StartedRuns(2, 4)


async def test_runs_are_counted_again_once_when_an_upgrade_has_ended(world: World, today: date) -> None:
    counts = MongoRunCounts(world.mongo)
    await counts.plan_recount()
    assert await counts.recount_if_due() is None
    await start(world)
    await world.mongo.collection(RUN_COUNTS).delete_many({"org_id": {"$exists": True}})
    await counts.plan_recount(timedelta())
    assert [await counts.recount_if_due() for _ in range(2)] == [1, None]
    assert await world.executions.started_runs(today) == StartedRuns(0, 1)


def test_a_command_counts_again(mongo_uri: str, mongo_client: MongoClient[dict[str, Any]]) -> None:
    database = f"test_{uuid4().hex}"
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "MOBILETEST_MONGO_URI": mongo_uri,
        "MOBILETEST_EXECUTOR_DATABASE": database,
        "MOBILETEST_SERVICE_TOKEN": "token-of-the-executor-0123456789abcdef",
    }
    command = [sys.executable, "-m", "services.executor", "recount"]
    mongo_client[database]["executions"].insert_one({"_id": "e", "org_id": "org", "counts": {"total": 3}})
    try:
        said = [
            subprocess.run(
                command, env={**os.environ, **environment}, check=True, capture_output=True, text=True
            ).stdout
            for _ in range(2)
        ]
        [row] = mongo_client[database]["run_counts"].find()
    finally:
        mongo_client.drop_database(database)
    assert row["stored"] == 3
    assert said == [f"organisations with another number of runs than counted: {number}\n" for number in (1, 0)]
