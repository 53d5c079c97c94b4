"""Verify finds what is wrong and nothing else; rebuild repairs it while events come and readers read."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from time import monotonic

import pytest
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.errors import FailedPrecondition
from services.reporting.model import counters
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction, RowPage
from services.reporting.rebuild.state import JobKind, Phase, ReplaySource
from services.reporting.storage.documents import COUNTERS
from services.reporting.storage.generations import (
    Generations,
    read_generations,
)
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoReadModels
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.store import expire
from tests.contract.reporting.tables import contents
from tests.eventually import eventually
from tests.integration.reporting.rebuild_world import QUICK, World, plant, spots

FRESH_SECONDS, DROP_AFTER = 0.2, 0.8


async def test_verify_finds_no_difference_in_intact_read_models(world: World) -> None:
    await world.fold(world.made(24))
    state, differences = await world.run(JobKind.VERIFY)
    assert (state.differences, differences, state.unreadable) == (0, [], 0)
    assert await read_generations(world.mongo) == Generations(0)
    await world.assert_right()


async def test_verify_reports_every_difference_and_changes_nothing(world: World) -> None:
    await world.fold(world.made(24))
    planted = await plant(world)
    state, differences = await world.run(JobKind.VERIFY)
    assert spots(differences) == planted
    assert state.differences == len(planted)
    by_spot = {difference.collection: difference for difference in differences}
    assert (by_spot["cells"].serving, by_spot["cells"].recounted != "") == ("", True)
    assert int(by_spot[COUNTERS].serving) == int(by_spot[COUNTERS].recounted or 0) + 1
    assert await read_generations(world.mongo) == Generations(0)


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
    assert (await world.run(JobKind.VERIFY))[1] == []


async def deliver(world: World, late: list[Snapshot]) -> list[Snapshot]:
    """Committed first, then published, some of it only with the next delivery; gives the latter."""
    snapshots = world.made(3)
    world.random.shuffle(snapshots)
    await world.fold(late + snapshots[:8])
    return snapshots[8:]


async def test_events_are_applied_and_reports_served_during_a_rebuild(world: World) -> None:
    await world.fold(world.made(30))
    reads = MongoReadModels(world.mongo, fresh_seconds=FRESH_SECONDS)
    rebuilt = asyncio.Event()
    seen = 0

    async def read() -> None:
        nonlocal seen
        began = monotonic()
        with bind(Caller(world.desk.org_id, scopes=ALL_SCOPES)):
            app = await reads.apps_by_id([world.desk.app_id])
            runs = await reads.runs_of_test("test-0", RowPage(0, 10))
            counted = (await reads.counters([counters.test("test-0")])).get(counters.test("test-0"), {})
        if monotonic() - began <= DROP_AFTER - FRESH_SECONDS:  # DeadlineGuard does not let out later answers
            assert app
            assert len(runs) == 10
            assert counted["runs"] >= seen
            seen = counted["runs"]

    async def deliver_and_read() -> None:
        delivered, late = 0, list[Snapshot]()
        while not rebuilt.is_set() or delivered < 10:
            late, delivered = await deliver(world, late), delivered + 1
            await read()
        await world.fold(late)

    async def rebuild() -> None:
        await world.run(JobKind.REBUILD, timings=replace(QUICK, drop=DROP_AFTER))
        rebuilt.set()

    await asyncio.gather(deliver_and_read(), rebuild())
    assert seen
    await world.assert_right()


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
    async with aclosing(world.job().run(JobKind.REBUILD)) as steps:
        async for progress in steps:
            if progress.state.phase is Phase.COMPARING and not replayed.is_set():
                assert not await folded()
                replayed.set()
                await slow
    await eventually(folded) if (await read_generations(world.mongo)).serving == 0 else None
    await world.assert_right()


async def test_expired_runs_are_not_reported_as_differences_and_stay_expired(world: World) -> None:
    told = world.made(20)
    await world.fold(told)
    runs = await world.mongo.collection("runs").find({"status": "completed"}, {"_id": 1}).limit(10).to_list(None)
    assert await expire(MongoProjections(world.mongo), [run["_id"] for run in runs]) > 0
    before = contents(await world.tables(0))
    assert (await world.run(JobKind.VERIFY))[1] == []
    await world.run(JobKind.REBUILD)
    assert contents(await world.tables(2)) == before


async def test_an_inconsistent_generation_never_serves(world: World) -> None:
    await world.fold(world.made(20))

    async def spoil(source: ReplaySource, token: str) -> None:
        if source is ReplaySource.RUNS and token:
            await world.mongo.collection("cells.g1").update_one({}, {"$inc": {"passed": 1}})

    world.history.before = spoil
    with pytest.raises(FailedPrecondition, match=r"are inconsistent.*runs in cells: 2[0-9] of 20"):
        await world.run(JobKind.REBUILD)
    assert await read_generations(world.mongo) == Generations(0)
    await world.assert_right()
