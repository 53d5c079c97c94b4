"""Read models with the history behind them, and operations on them."""

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from random import Random
from uuid import uuid4

from mobiletest.reporting.v1 import reports_pb2

from services.chassis.clock import truncate_to_milliseconds
from services.chassis.events import Event
from services.chassis.leases import MongoLease
from services.chassis.mongo import Mongo
from services.reporting.events import parse_event
from services.reporting.model import counters
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.projection import DEFAULT_RULES
from services.reporting.model.tables import Tables
from services.reporting.rebuild.comparison import COLLECTIONS
from services.reporting.rebuild.job import RebuildJob, RebuildTimings
from services.reporting.rebuild.state import Difference, JobKind, JobState, Phase
from services.reporting.rebuild.store import MongoRebuildStore
from services.reporting.storage.documents import COUNTERS
from services.reporting.storage.generations import read_generations, split_collection_name
from services.reporting.storage.projections import MongoProjections
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.tables import contents, read_tables
from tests.fakes.reporting_event_log import EventLog
from tests.fakes.reporting_rebuild import FakeConsumerProgress, FakeFactHistory
from tests.fakes.reporting_recount import recount

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

    def events(self, runs: int) -> list[Event]:
        """What executor and catalog publish of so many runs: of one app, on two builds, of three tests in variants."""
        events = [self.desk.build(*BUILDS[0], age=2), self.desk.build(*BUILDS[1]), self.desk.app()]
        events += [self.desk.attachment(test, test) for test in TESTS]
        for number in range(runs):
            ending = self.random.choice(["passed", "failed", "infra", "cancelled"])
            locale = (None, "de", "fr")[number // 6 % 3]
            life = self.desk.life(BUILDS[number % 2], TESTS[number % 3], ending, locale=locale)
            events += life[: self.random.choice([2, 3, 4, 4, 4])]
        return [replace(event, time=truncate_to_milliseconds(event.time)) for event in events]

    def made(self, runs: int) -> list[Snapshot]:
        """What executor and catalog tell of so many runs, and have committed."""
        told = [snapshot for event in self.events(runs) if (snapshot := parse_event(event))]
        self.history.commit(told)
        return told

    async def fold(self, told: Iterable[Snapshot]) -> None:
        """Fold as the consumer does."""
        await Projector(MongoProjections(self.mongo)).apply_events(Batch.of(told))

    def job(self, timings: RebuildTimings = QUICK) -> RebuildJob:
        lease = MongoLease(self.mongo, "operation", str(uuid4()), seconds=30)
        store = MongoRebuildStore(self.mongo, DEFAULT_RULES)
        return RebuildJob(self.history, store, self.consumers, lease, timings)

    async def run(
        self, operation: JobKind, *, restart: bool = False, timings: RebuildTimings = QUICK
    ) -> tuple[JobState, list[Difference]]:
        """Carry the operation out; gives how it ended, and what it found."""
        differences: list[Difference] = []
        async with aclosing(self.job(timings).run(operation, restart=restart)) as steps:
            async for progress in steps:
                differences += progress.found
        return progress.state, differences

    async def step(self, operation: JobKind) -> JobState:
        """One piece of the operation, then it is interrupted."""
        async with aclosing(self.job().run(operation)) as steps:
            before = await anext(steps)
            while before.state.phase is not Phase.DONE:
                return (await anext(steps)).state
            return before.state

    async def tables(self, generation: int) -> Tables:
        """Everything that a generation has."""
        return await read_tables(self.mongo, generation)

    async def assert_right(self) -> None:
        """What serves is what the history says, and nothing else is left."""
        known = await read_generations(self.mongo)
        assert known.building is None
        assert contents(await self.tables(known.serving)) == contents(recount(self.history.told()))
        left = [split_collection_name(name) for name in await self.mongo.database.list_collection_names()]
        assert {generation for name, generation in left if name in COLLECTIONS} == {known.serving}


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
    await mongo.collection("histories").update_one({"_id": history}, {"$unset": {"last_observed_build": ""}})
    return {
        (COUNTERS, counter, "passed"),
        ("cells", cell, ""),
        ("runs", "too-many", ""),
        ("runs", run["_id"], "list_item"),
        ("histories", history, "last_observed_build"),
    }


def spots(differences: Iterable[Difference]) -> set[tuple[str, str, str]]:
    return {(difference.collection, difference.id, difference.field) for difference in differences}
