"""A job that is interrupted, killed or taken over reaches the same result."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from services.chassis.errors import Aborted
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.rebuild.state import JobKind, Phase, ReplaySource
from services.reporting.storage.generations import (
    Generations,
    read_generations,
)
from services.reporting.storage.schema import MIGRATIONS
from tests.integration.reporting.rebuild_world import World, plant, spots


@pytest.mark.parametrize("operation", list(JobKind))
async def test_a_job_interrupted_after_each_step_reaches_the_same_result(world: World, operation: JobKind) -> None:
    await world.fold(world.made(16))
    planted = await plant(world)
    steps = [await world.step(operation)]
    while steps[-1].phase is not Phase.DONE:
        if len(steps) % 5 == 0:
            await world.fold(world.made(1))
        steps.append(await world.step(operation))
    assert {state.generation for state in steps} == {1}
    assert {state.phase for state in steps} >= {Phase.REPLAYING, Phase.COMPARING, Phase.DONE}
    assert steps[-1].differences == len(planted)
    if operation is JobKind.REBUILD:
        await world.assert_right()
    else:
        assert await read_generations(world.mongo) == Generations(0)


async def test_a_resumed_job_reports_earlier_differences_again(world: World) -> None:
    await world.fold(world.made(16))
    planted = await plant(world)
    while (await world.step(JobKind.VERIFY)).stage != "tests":
        pass
    assert spots((await world.run(JobKind.VERIFY))[1]) == planted


@pytest.mark.parametrize(
    ("interrupted", "restart"), [(JobKind.VERIFY, False), (JobKind.REBUILD, True)], ids=["replaced", "restarted"]
)
async def test_an_interrupted_job_is_given_up_for_another(world: World, interrupted: JobKind, *, restart: bool) -> None:
    await world.fold(world.made(10))
    for _ in range(4):
        await world.step(interrupted)
    state, _ = await world.run(JobKind.REBUILD, restart=restart)
    assert state.generation == 2
    await world.assert_right()


async def test_a_rebuild_that_already_serves_is_finished_first(world: World) -> None:
    await world.fold(world.made(16))
    while (await world.step(JobKind.REBUILD)).swapped_at is None:
        pass
    assert (await world.run(JobKind.VERIFY))[1] == []
    assert (await read_generations(world.mongo)).serving == 1
    await world.assert_right()


async def test_a_job_that_was_taken_over_writes_nothing_more(world: World) -> None:
    await world.fold(world.made(16))
    reading, going_on = asyncio.Event(), asyncio.Event()

    async def wait(source: ReplaySource, _: str) -> None:
        if source is ReplaySource.RUNS and not reading.is_set():
            reading.set()
            await going_on.wait()

    world.history.before = wait
    zombie = asyncio.create_task(world.run(JobKind.REBUILD))
    await reading.wait()
    await world.mongo.collection("_leases").delete_one({"_id": "operation"})
    await world.run(JobKind.REBUILD, restart=True)
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
    await world.fold(world.made(16))

    async def half(source: ReplaySource, token: str) -> None:
        if source is ReplaySource.RUNS and token:
            mongo.fates = (OperationFailure("too large", 356), None, Died())

    world.history.before = half
    with pytest.raises(Died):
        await world.run(JobKind.REBUILD)
    world.history.before = None
    state, _ = await world.run(JobKind.REBUILD)
    assert state.generation == 1
    await world.assert_right()
    await mongo.close()
