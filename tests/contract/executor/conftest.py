"""The executor's ports on MongoDB. Every test has its own organisation."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Driver, Mongo
from services.chassis.outbox import Outbox
from services.executor.model.runs import RunLimits
from services.executor.storage.change_notifier import ChangeNotifier
from services.executor.storage.executions import MongoExecutions
from services.executor.storage.migrations import MIGRATIONS
from services.executor.storage.runs import MongoRuns
from services.executor.storage.schema import EXECUTIONS, RUN_COUNTS, RUNS
from services.executor.storage.supersessions import MongoSupersessions
from services.executor.storage.transactions import ExecutionTransactions
from services.executor.worker.processes.pool import AttemptProcesses
from tests.contract.executor.attempt_worlds import Children, real_processes
from tests.eventually import stop
from tests.fakes.attempt_processes import task_processes

# long, so that no lease and no pause ends by itself while the machine is busy
LIMITS = RunLimits(lease_ttl=timedelta(minutes=10), infrastructure_backoff=timedelta(minutes=10))
_TIMES = ("lease.expires_at", "due_at", "claimable_at", "queued_at", "deadline_at", "started_at")


@dataclass
class World:
    """Executions and runs. MongoDB's clock cannot be set: `advance` moves stored times back instead."""

    mongo: Mongo
    outbox: Outbox
    transactions: ExecutionTransactions
    executions: MongoExecutions
    runs: MongoRuns
    supersessions: MongoSupersessions

    @property
    def limits(self) -> RunLimits:
        return self.transactions.limits

    async def expire_leases(self) -> None:
        await self.advance(self.limits.lease_ttl.total_seconds() + 1)

    async def advance(self, seconds: float) -> None:
        milliseconds = timedelta(seconds=seconds) // timedelta(milliseconds=1)

        def earlier(field: str) -> Any:
            return {"$subtract": [field, milliseconds]}

        def each(array: str, *fields: str) -> Any:
            moved = {field: earlier(f"$$this.{field}") for field in fields}
            return [{"$set": {array: {"$map": {"input": f"${array}", "in": {"$mergeObjects": ["$$this", moved]}}}}}]

        runs = self.mongo.collection(RUNS)
        for field in _TIMES:
            await runs.update_many({field: {"$exists": True}}, [{"$set": {field: earlier(f"${field}")}}])
        await runs.update_many({"attempts.0": {"$exists": True}}, each("attempts", "started_at", "completed_at"))
        await runs.update_many({"orphans.0": {"$exists": True}}, each("orphans", "since"))
        created: Any = [{"$set": {"created_at": earlier("$created_at")}}]
        await self.mongo.collection(EXECUTIONS).update_many({}, created)


def world_on(mongo: Mongo, limits: RunLimits = LIMITS) -> World:
    outbox = Outbox(mongo, "test")
    transactions = ExecutionTransactions(mongo, outbox, limits)
    return World(
        mongo,
        outbox,
        transactions,
        MongoExecutions(transactions, outbox),
        MongoRuns(transactions),
        MongoSupersessions(transactions),
    )


@pytest.fixture(scope="session")
def shared_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """One database for all tests of this process, because creating indexes takes longer than a test."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@pytest.fixture
async def mongo(mongo_uri: str, shared_database: str, mongo_driver: Driver) -> AsyncIterator[Mongo]:
    async with open_migrated(mongo_uri, shared_database, MIGRATIONS, mongo_driver) as mongo:
        yield mongo


@pytest.fixture
async def empty_mongo(mongo: Mongo) -> Mongo:
    """Without executions and runs, and their counts, because workers and sweepers see those of all organisations."""
    await asyncio.gather(*(mongo.collection(name).delete_many({}) for name in (EXECUTIONS, RUNS, RUN_COUNTS)))
    return mongo


@pytest.fixture
def world(empty_mongo: Mongo) -> World:
    return world_on(empty_mongo)


@pytest.fixture
def limited(empty_mongo: Mongo) -> World:
    """With a limit of two running runs per organisation."""
    return world_on(empty_mongo, RunLimits(lease_ttl=LIMITS.lease_ttl, organisation_runs=2))


@pytest.fixture
async def notifications(world: World) -> AsyncIterator[ChangeNotifier]:
    notifications = ChangeNotifier(world.mongo)
    with notifications.subscribe("any") as subscription:
        listening = asyncio.create_task(notifications.run())
        await subscription.wait(60)  # the open stream wakes everybody once
    yield notifications
    await stop(listening)


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    with bind(Caller(org_id=str(uuid4()), scopes=ALL_SCOPES, via_gateway=True)) as bound:
        yield bound


@pytest.fixture
async def processes(request: pytest.FixtureRequest) -> AsyncIterator[AttemptProcesses]:
    """Tasks, or processes where a test asks for them."""
    in_processes = getattr(request, "param", "tasks") == "processes"
    opened = real_processes(Children()) if in_processes else task_processes()
    async with opened as running:
        yield running
