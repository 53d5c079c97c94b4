"""The executor's ports under test: in memory, and on MongoDB with both drivers."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from services.executor.model.runs import RunLimits
from services.executor.ports.executions import Executions, Supersessions
from services.executor.ports.runs import Runs
from services.executor.storage.durations import RunDurations
from services.executor.storage.executions import MongoExecutions
from services.executor.storage.runs import MongoRuns
from services.executor.storage.schema import EXECUTIONS, MIGRATIONS, PLANS, RUNS, STEPS
from services.executor.storage.supersessions import MongoSupersessions
from services.executor.storage.transactions import ExecutionTransactions
from services.executor.worker.processes.pool import AttemptProcesses
from tests.contract.executor.attempt_worlds import Children, real_processes
from tests.fakes.attempt_processes import task_processes
from tests.fakes.executor_executions import FakeExecutions

LIMITS = RunLimits()
LIMITED = RunLimits(organisation_runs=2)
_TIMES = ("lease.expires_at", "due_at", "claimable_at", "queued_at", "deadline_at", "started_at")


@dataclass
class World:
    """The ports on the same executions; `advance` moves the clock of stored data."""

    executions: Executions
    runs: Runs
    supersessions: Supersessions

    async def advance(self, seconds: float) -> None:
        raise NotImplementedError

    async def flush(self) -> None:
        """Write the buffered durations."""


@dataclass
class MemoryWorld(World):
    memory: FakeExecutions

    async def advance(self, seconds: float) -> None:
        self.memory.advance(seconds)


@dataclass
class MongoWorld(World):
    """The database's clock cannot be set, so stored times are moved back instead."""

    mongo: Mongo
    durations: RunDurations

    async def flush(self) -> None:
        await self.durations.flush()

    async def advance(self, seconds: float) -> None:
        milliseconds = timedelta(seconds=seconds) // timedelta(milliseconds=1)
        for field in _TIMES:
            older: Any = [{"$set": {field: {"$subtract": [f"${field}", milliseconds]}}}]
            await self.mongo.collection("runs").update_many({field: {"$exists": True}}, older)
        moved = {name: {"$subtract": [f"$$this.{name}", milliseconds]} for name in ("started_at", "completed_at")}
        attempts: Any = {"$map": {"input": "$attempts", "in": {"$mergeObjects": ["$$this", moved]}}}
        runs = self.mongo.collection("runs")
        await runs.update_many({"attempts": {"$exists": True}}, [{"$set": {"attempts": attempts}}])
        created: Any = [{"$set": {"created_at": {"$subtract": ["$created_at", milliseconds]}}}]
        await self.mongo.collection("executions").update_many({}, created)


@asynccontextmanager
async def on_mongo(
    uri: str, database: str, driver: Literal["motor", "pymongo"], limits: RunLimits = LIMITS
) -> AsyncIterator[MongoWorld]:
    async with open_migrated(uri, database, MIGRATIONS, driver) as mongo:
        for collection in (EXECUTIONS, RUNS, PLANS, STEPS):
            await mongo.collection(collection).delete_many({})
        outbox = Outbox(mongo, "test")
        transactions = ExecutionTransactions(mongo, outbox, limits)
        yield MongoWorld(
            MongoExecutions(transactions, outbox),
            MongoRuns(transactions),
            MongoSupersessions(transactions),
            mongo,
            transactions.durations,
        )


@pytest.fixture(scope="session")
def shared_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """One database for all tests of this process, because creating indexes takes longer than a test."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@asynccontextmanager
async def world_of(request: pytest.FixtureRequest, limits: RunLimits) -> AsyncIterator[World]:
    if request.param == "fake":
        memory = FakeExecutions(limits)
        yield MemoryWorld(memory, memory, memory, memory)
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("shared_database")
    async with on_mongo(uri, database, request.param, limits) as found:
        yield found


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with world_of(request, LIMITS) as found:
        yield found


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def limited(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """With a limit of two running runs per organisation."""
    async with world_of(request, LIMITED) as found:
        yield found


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """Every test has its own organisation."""
    with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES, via_gateway=True)) as bound:
        yield bound


@pytest.fixture(params=["tasks", "processes"])
async def processes(request: pytest.FixtureRequest) -> AsyncIterator[AttemptProcesses]:
    opened = task_processes() if request.param == "tasks" else real_processes(Children())
    async with opened as running:
        yield running
