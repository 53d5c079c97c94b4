"""Verify finds what is wrong and nothing else; rebuild repairs it while events come and readers read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from random import Random
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from mobiletest.reporting.v1 import reports_pb2
from pymongo.errors import OperationFailure

from services.chassis.clock import truncate_to_milliseconds
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.errors import Aborted, FailedPrecondition
from services.chassis.leases import Lease
from services.chassis.migrations import migrate, open_migrated
from services.chassis.mongo import Mongo
from services.reporting.events import parse_event
from services.reporting.model import counters
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.list_positions import expire_runs
from services.reporting.model.projection import DEFAULT_RULES, RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import Page, ProjectionTransaction
from services.reporting.rebuild.comparison import COLLECTIONS
from services.reporting.rebuild.job import RebuildJob, RebuildTimings
from services.reporting.rebuild.state import Difference, JobState, Operation, Phase, ReplaySource
from services.reporting.rebuild.store import MongoRebuildStore
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.generations import (
    FRESH_SECONDS,
    Generations,
    collection_name,
    read_generations,
    split_collection_name,
)
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoReadModels
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.test_read_models import contents
from tests.eventually import eventually
from tests.fakes.reporting_event_log import EventLog
from tests.fakes.reporting_rebuild import FakeConsumerProgress, FakeFactHistory
from tests.fakes.reporting_recount import recount

DROP_AFTER = 2.0
QUICK = RebuildTimings(publish=0, stalled=0, recheck=0, drop=0, poll=0.01)
BUILDS = [("build-1", "1.0"), ("build-2", "1.1")]
TESTS = ["test-0", "test-1", "test-2"]


@dataclass
class World:
    """The read models of a reporting service, and the history behind them."""

    mongo: Mongo
    desk: EventLog = field(default_factory=EventLog)
    history: FakeFactHistory = field(default_factory=lambda: FakeFactHistory(page_size=12))
    consumers: FakeConsumerProgress = field(default_factory=FakeConsumerProgress)
    random: Random = field(default_factory=lambda: Random(20261121))

    def made(self, runs: int) -> list[Snapshot]:
        """What executor and catalog tell of so many runs, and have committed."""
        events = [self.desk.build(*BUILDS[0], age=2), self.desk.build(*BUILDS[1]), self.desk.app()]
        events += [self.desk.attachment(test, test) for test in TESTS]
        for number in range(runs):
            ending = self.random.choice(["passed", "failed", "infra", "cancelled"])
            life = self.desk.life(BUILDS[number % 2], TESTS[number % 3], ending)
            events += life[: self.random.choice([2, 3, 4, 4, 4])]
        timed = [replace(event, time=truncate_to_milliseconds(event.time)) for event in events]
        told = [snapshot for event in timed if (snapshot := parse_event(event))]
        self.history.commit(told)
        return told

    async def fold(self, told: Iterable[Snapshot]) -> None:
        """Fold as the consumer does."""
        await Projector(MongoProjections(self.mongo)).apply_events(Batch.of(told))

    def job(self, timings: RebuildTimings = QUICK) -> RebuildJob:
        lease = Lease(self.mongo, "operation", str(uuid4()), seconds=30)
        store = MongoRebuildStore(self.mongo, DEFAULT_RULES)
        return RebuildJob(self.history, store, self.consumers, lease, timings)

    async def run(
        self, operation: Operation, *, restart: bool = False, timings: RebuildTimings = QUICK
    ) -> tuple[JobState, list[Difference]]:
        """Carry the operation out; gives how it ended, and what it found."""
        found: list[Difference] = []
        async with aclosing(self.job(timings).run(operation, restart=restart)) as steps:
            async for progress in steps:
                found += progress.found
        return progress.state, found

    async def step(self, operation: Operation) -> JobState:
        """One piece of the operation, then it is interrupted."""
        async with aclosing(self.job().run(operation)) as steps:
            before = await anext(steps)
            while before.state.phase is not Phase.DONE:
                return (await anext(steps)).state
            return before.state

    async def tables(self, generation: int) -> Tables:
        """Everything that a generation has."""
        tables = Tables()
        for kind in TABLE_CODECS:
            documents = await self.mongo.collection(collection_name(kind.collection, generation)).find().to_list(None)
            getattr(tables, kind.table).load(map(kind.decode, documents))
        for row in await self.mongo.collection(collection_name(COUNTERS, generation)).find().to_list(None):
            org_id = row.pop("org_id")
            tables.counters.load([((org_id, row.pop("_id").removeprefix(f"{org_id}:")), row)])
        return tables

    async def assert_right(self) -> None:
        """What serves is what the history says, and nothing else is left."""
        known = await read_generations(self.mongo)
        assert known.building is None
        assert contents(await self.tables(known.serving)) == contents(recount(self.history.told()))
        left = [split_collection_name(name) for name in await self.mongo.database.list_collection_names()]
        assert {generation for name, generation in left if name in COLLECTIONS} == {known.serving}


@pytest.fixture
async def world(request: pytest.FixtureRequest, mongo_uri: str, mongo_database: str) -> AsyncIterator[World]:
    driver = getattr(request, "param", "motor")
    async with open_migrated(mongo_uri, mongo_database, MIGRATIONS, driver) as mongo:
        yield World(mongo)


async def test_verify_finds_no_difference_in_intact_read_models(world: World) -> None:
    await world.fold(world.made(40))
    state, found = await world.run(Operation.VERIFY)
    assert (state.differences, found, state.unreadable) == (0, [], 0)
    assert await read_generations(world.mongo) == Generations(0)
    await world.assert_right()


async def plant(world: World) -> set[tuple[str, str, str]]:
    """Spoil the read models; gives (collection, id, field) of each spot."""
    mongo, org = world.mongo, world.desk.org_id
    counter = f"{org}:{counters.build('build-1')}"
    await mongo.collection(COUNTERS).update_one({"_id": counter}, {"$inc": {"passed": 1}})
    cell = f"{world.desk.app_id}:test-1:build-2"
    await mongo.collection("cells").delete_one({"_id": cell})
    run = await mongo.collection("runs").find_one({"test_id": "test-0"})
    await mongo.collection("runs").insert_one({**run, "_id": "too-many"})
    lied = reports_pb2.BuildRunItem(run_id=run["_id"], test_name="Another").SerializeToString()
    await mongo.collection("runs").update_one({"_id": run["_id"]}, {"$set": {"list_item": lied}})
    history = f"{world.desk.app_id}:test-2"
    await mongo.collection("histories").update_one({"_id": history}, {"$unset": {"observed": ""}})
    return {
        (COUNTERS, counter, "passed"),
        ("cells", cell, ""),
        ("runs", "too-many", ""),
        ("runs", run["_id"], "list_item"),
        ("histories", history, "observed"),
    }


def spots(found: Iterable[Difference]) -> set[tuple[str, str, str]]:
    return {(difference.collection, difference.id, difference.field) for difference in found}


async def test_verify_reports_every_difference_and_changes_nothing(world: World) -> None:
    await world.fold(world.made(40))
    planted = await plant(world)
    state, found = await world.run(Operation.VERIFY)
    assert spots(found) == planted
    assert state.differences == len(planted)
    by_spot = {difference.collection: difference for difference in found}
    assert (by_spot["cells"].serving, by_spot["cells"].recounted != "") == ("", True)
    assert int(by_spot[COUNTERS].serving) == int(by_spot[COUNTERS].recounted or 0) + 1
    assert (await read_generations(world.mongo)).serving == 0
    assert spots((await world.run(Operation.VERIFY))[1]) == planted


@pytest.mark.parametrize("world", ["motor", "pymongo"], indirect=True)
async def test_rebuild_reports_and_repairs_every_difference(world: World) -> None:
    await world.fold(world.made(40))
    planted = await plant(world)
    state, found = await world.run(Operation.REBUILD)
    assert spots(found) == planted
    assert (await read_generations(world.mongo)).serving == state.generation == 1
    await world.assert_right()
    assert (await world.run(Operation.VERIFY))[1] == []
    assert (await world.run(Operation.REBUILD))[0].generation == 3
    await world.assert_right()


async def test_values_that_no_event_carries_are_ignored(world: World) -> None:
    """Revisions of what changed invisibly, links to artifacts that are gone, former names, counters that are 0."""
    await world.fold(world.made(20))
    mongo = world.mongo
    for name in ("runs", "executions", "tests"):
        await mongo.collection(name).update_many({}, {"$inc": {"revision": 1}})
    await mongo.collection("attachments").update_many({}, {"$set": {"test_name": "Once"}})
    await mongo.collection(COUNTERS).update_many({}, {"$set": {"none": 0}})
    await mongo.collection(COUNTERS).insert_one({"_id": "org:nothing", "org_id": "org", "runs": 0})
    for run in await mongo.collection("runs").find().to_list(None):
        item = reports_pb2.BuildRunItem.FromString(run["list_item"])
        item.report_metadata["artifacts"] = [{"name": "gone.png"}]
        changed = {"$set": {"list_item": item.SerializeToString()}}
        await mongo.collection("runs").update_one({"_id": run["_id"]}, changed)
    assert (await world.run(Operation.VERIFY))[1] == []


async def test_rebuild_restores_lost_read_models(world: World) -> None:
    """Events that nobody folded are in the history."""
    world.made(30)
    await world.run(Operation.REBUILD)
    await world.assert_right()


async def test_events_are_applied_and_reports_served_during_a_rebuild(world: World) -> None:
    await world.fold(world.made(30))
    reads = MongoReadModels(world.mongo)
    rebuilt = asyncio.Event()
    seen = 0

    async def deliver(late: list[Snapshot]) -> list[Snapshot]:
        """Committed first, then published, some of it only with the next delivery; gives the latter."""
        snapshots = world.made(3)
        world.random.shuffle(snapshots)
        await world.fold(late + snapshots[:8])
        return snapshots[8:]

    async def read() -> None:
        nonlocal seen
        began = monotonic()
        with bind(Caller(world.desk.org_id, scopes=ALL_SCOPES)):
            app = await reads.app(world.desk.app_id)
            runs = await reads.runs_of_test("test-0", Page(0, 10))
            counted = (await reads.counters([counters.test("test-0")])).get(counters.test("test-0"), {})
        if monotonic() - began <= DROP_AFTER - FRESH_SECONDS:  # DeadlineGuard does not let out later answers
            assert app
            assert len(runs) == 10
            assert counted["runs"] >= seen
            seen = counted["runs"]

    async def deliver_and_read() -> None:
        delivered, late = 0, list[Snapshot]()
        while not rebuilt.is_set() or delivered < 10:
            late, delivered = await deliver(late), delivered + 1
            await read()
        await world.fold(late)

    async def rebuild() -> None:
        for _ in range(2):
            await world.run(Operation.REBUILD, timings=replace(QUICK, drop=DROP_AFTER))
        rebuilt.set()

    await asyncio.gather(deliver_and_read(), rebuild())
    assert seen
    await world.assert_right()


@pytest.mark.parametrize("operation", list(Operation))
async def test_a_job_interrupted_after_each_step_reaches_the_same_result(world: World, operation: Operation) -> None:
    await world.fold(world.made(20))
    planted = await plant(world)
    steps = [await world.step(operation)]
    while steps[-1].phase is not Phase.DONE:
        if len(steps) % 5 == 0:
            await world.fold(world.made(1))
        steps.append(await world.step(operation))
    assert {state.generation for state in steps} == {1}
    assert {state.phase for state in steps} >= {Phase.REPLAYING, Phase.COMPARING, Phase.DONE}
    assert planted <= {("runs", "too-many", "")} | planted
    assert steps[-1].differences == len(planted)
    if operation is Operation.REBUILD:
        await world.assert_right()
    else:
        assert await read_generations(world.mongo) == Generations(0)


async def test_a_resumed_job_reports_earlier_differences_again(world: World) -> None:
    await world.fold(world.made(20))
    planted = await plant(world)
    while (await world.step(Operation.VERIFY)).stage != "tests":
        pass
    assert spots((await world.run(Operation.VERIFY))[1]) == planted


async def test_restart_begins_a_new_generation(world: World) -> None:
    await world.fold(world.made(20))
    for _ in range(4):
        await world.step(Operation.REBUILD)
    state, _ = await world.run(Operation.REBUILD, restart=True)
    assert state.generation == 2
    await world.assert_right()


async def test_another_operation_replaces_an_interrupted_one(world: World) -> None:
    await world.fold(world.made(20))
    for _ in range(4):
        await world.step(Operation.VERIFY)
    await world.run(Operation.REBUILD)
    await world.assert_right()


async def test_a_rebuild_that_already_serves_is_finished_first(world: World) -> None:
    await world.fold(world.made(20))
    while (await world.step(Operation.REBUILD)).swapped_at is None:
        pass
    assert (await world.run(Operation.VERIFY))[1] == []
    assert (await read_generations(world.mongo)).serving == 1
    await world.assert_right()


async def test_one_operation_at_a_time(world: World) -> None:
    await world.fold(world.made(5))
    async with aclosing(world.job().run(Operation.VERIFY)) as steps:
        await anext(steps)
        with pytest.raises(Aborted, match="under way"):
            await world.run(Operation.REBUILD)
    await world.run(Operation.REBUILD)


async def test_a_job_that_was_taken_over_writes_nothing_more(world: World) -> None:
    await world.fold(world.made(20))
    reading, going_on = asyncio.Event(), asyncio.Event()

    async def wait(source: ReplaySource, _: str) -> None:
        if source is ReplaySource.RUNS and not reading.is_set():
            reading.set()
            await going_on.wait()

    world.history.before = wait
    zombie = asyncio.create_task(world.run(Operation.REBUILD))
    await reading.wait()
    await world.mongo.collection("_leases").delete_one({"_id": "operation"})
    await world.run(Operation.REBUILD, restart=True)
    going_on.set()
    with pytest.raises(Aborted, match="taken"):
        await zombie
    await world.assert_right()


class Died(Exception):
    """The process ended here."""


class Picky(Mongo):
    """Does with the next transactions what `fates` say: refuses one with an error, or runs it (None)."""

    fates: tuple[Exception | None, ...] = ()

    async def transaction(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        fate, *rest = self.fates or (None,)
        self.fates = tuple(rest)
        if fate is not None:
            raise fate
        return await super().transaction(work)


async def test_a_crash_between_the_halves_of_a_batch_loses_nothing(mongo_uri: str, mongo_database: str) -> None:
    """MongoDB does not take the batch as a whole; one half of it is folded when the process dies."""
    mongo = await Picky.connect(mongo_uri, mongo_database)
    assert isinstance(mongo, Picky)
    await migrate(mongo, MIGRATIONS)
    world = World(mongo)
    await world.fold(world.made(20))

    async def half(source: ReplaySource, token: str) -> None:
        if source is ReplaySource.RUNS and token:
            mongo.fates = (OperationFailure("too large", 356), None, Died())

    world.history.before = half
    with pytest.raises(Died):
        await world.run(Operation.REBUILD)
    world.history.before = None
    state, _ = await world.run(Operation.REBUILD)
    assert state.generation == 1
    await world.assert_right()
    await mongo.close()


async def test_a_fold_that_began_before_the_rebuild_is_replayed_from_the_history(world: World) -> None:
    """It commits into the serving generation alone, while the history is read."""
    told = world.made(10)
    begun, replayed = asyncio.Event(), asyncio.Event()

    async def late(transaction: ProjectionTransaction) -> None:
        begun.set()
        await replayed.wait()
        await transaction.load(Tables(), RowKeys(runs=["none"]))

    class Late(MongoProjections):
        async def transaction(self, work: object) -> None:
            async def waiting(transaction: ProjectionTransaction) -> None:
                await late(transaction)
                await work(transaction)  # type: ignore[operator]

            await super().transaction(waiting)

    async def folded() -> bool:
        return bool(await world.mongo.collection("runs").count_documents({}))

    slow = asyncio.create_task(Projector(Late(world.mongo)).apply_events(Batch.of(told)))
    await begun.wait()
    async with aclosing(world.job().run(Operation.REBUILD)) as steps:
        async for progress in steps:
            if progress.state.phase is Phase.COMPARING and not replayed.is_set():
                assert not await folded()
                replayed.set()
                await slow
    await eventually(folded) if (await read_generations(world.mongo)).serving == 0 else None
    await world.assert_right()


async def test_expired_runs_are_no_difference_and_stay_expired(world: World) -> None:
    told = world.made(30)
    await world.fold(told)
    runs = await world.mongo.collection("runs").find({"status": "completed"}, {"_id": 1}).limit(10).to_list(None)
    ids = [run["_id"] for run in runs]
    assert ids

    async def work(transaction: ProjectionTransaction) -> None:
        tables = Tables()
        await transaction.load(tables, RowKeys(runs=ids))
        assert expire_runs(tables, ids) == len(ids)
        await transaction.save(tables)

    await MongoProjections(world.mongo).transaction(work)
    before = contents(await world.tables(0))
    assert (await world.run(Operation.VERIFY))[1] == []
    await world.run(Operation.REBUILD)
    assert contents(await world.tables(2)) == before


async def test_an_inconsistent_generation_never_serves(world: World) -> None:
    await world.fold(world.made(20))

    async def spoil(source: ReplaySource, token: str) -> None:
        if source is ReplaySource.RUNS and token:
            await world.mongo.collection("cells.g1").update_one({}, {"$inc": {"passed": 1}})

    world.history.before = spoil
    with pytest.raises(FailedPrecondition, match=r"are inconsistent.*runs in cells: 2[0-9] of 20"):
        await world.run(Operation.REBUILD)
    assert await read_generations(world.mongo) == Generations(0)
    await world.assert_right()


async def test_consumer_lag_is_reported(world: World) -> None:
    await world.fold(world.made(5))
    world.consumers.left = 3
    async with aclosing(world.job().run(Operation.VERIFY)) as steps:
        assert [progress.behind async for progress in steps if progress.behind] == [3]
