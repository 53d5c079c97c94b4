"""What rebuild jobs do in MongoDB: no query takes long, and no job touches the generation of another one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from services.chassis.mongo import Mongo
from services.reporting.model.projection import DEFAULT_RULES
from services.reporting.rebuild.comparison import find_inconsistencies
from services.reporting.rebuild.ports import TakenOver
from services.reporting.rebuild.state import JobKind, ReplaySource
from services.reporting.rebuild.store import MongoRebuildStore, newest_state
from services.reporting.storage.documents import CELLS, COUNTERS
from services.reporting.storage.projections import MongoProjections
from tests.contract.reporting.store import expire
from tests.integration.reporting.rebuild_world import World


class Halting:
    """A database whose second list of collections from now on comes late: `meanwhile` happens before."""

    def __init__(self, database: Any, meanwhile: Callable[[], Awaitable[None]], *, lists: int) -> None:
        self._database = database
        self._meanwhile = meanwhile
        self._lists = lists

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def __getitem__(self, name: str) -> Any:
        return self._database[name]

    async def list_collection_names(self) -> list[str]:
        self._lists -= 1
        if not self._lists:
            await self._meanwhile()
        names: list[str] = await self._database.list_collection_names()
        return names


@pytest.fixture
async def slow(mongo_uri: str, mongo_database: str) -> AsyncIterator[Mongo]:
    """The connection of a process that is suspended for a while."""
    mongo = await Mongo.connect(mongo_uri, mongo_database)
    yield mongo
    await mongo.close()


async def count_collections(mongo: Mongo, generation: int) -> int:
    names = await mongo.database.list_collection_names()
    return sum(name.endswith(f".g{generation}") for name in names)


async def test_a_process_that_lost_its_job_after_beginning_it_drops_nothing(mongo: Mongo, slow: Mongo) -> None:
    """`begin` lists the collections once to create its own, and once more to drop unused ones."""
    other, zombie = MongoRebuildStore(mongo, DEFAULT_RULES), MongoRebuildStore(slow, DEFAULT_RULES)

    async def take_over() -> None:
        assert await other.take_over() is not None

    await zombie.take_over()
    slow.database = Halting(slow.database, take_over, lists=2)
    state = await zombie.begin(JobKind.VERIFY)
    assert await count_collections(mongo, state.generation) == 14


async def test_a_process_that_lost_its_job_before_beginning_it_begins_nothing(mongo: Mongo, slow: Mongo) -> None:
    other, zombie = MongoRebuildStore(mongo, DEFAULT_RULES), MongoRebuildStore(slow, DEFAULT_RULES)

    async def begin_another() -> None:
        await other.take_over()
        await other.begin(JobKind.REBUILD)

    await zombie.take_over()
    slow.database = Halting(slow.database, begin_another, lists=1)
    with pytest.raises(TakenOver):
        await zombie.begin(JobKind.VERIFY)
    state = await newest_state(mongo)
    assert state is not None
    assert (state.operation, await count_collections(mongo, state.generation)) == (JobKind.REBUILD, 14)


async def test_a_process_that_finished_its_job_drops_nothing_of_the_next_one(mongo: Mongo, slow: Mongo) -> None:
    other, zombie = MongoRebuildStore(mongo, DEFAULT_RULES), MongoRebuildStore(slow, DEFAULT_RULES)

    async def begin_another() -> None:
        await other.take_over()
        await other.begin(JobKind.REBUILD)

    await zombie.take_over()
    state = await zombie.begin(JobKind.VERIFY)
    slow.database = Halting(slow.database, begin_another, lists=1)
    await zombie.finish(state)
    assert await count_collections(mongo, state.generation) == 0
    assert await count_collections(mongo, state.generation + 1) == 14


async def test_expired_runs_are_found_page_by_page(mongo: Mongo) -> None:
    """Among millions of runs none may have expired: a query that ends with the first expired one would take minutes."""
    world = World(mongo)
    await world.fold(world.made(20))
    runs = await mongo.collection("runs").find({}, {"status": 1}).sort("_id", 1).to_list(None)
    last = max(run["_id"] for run in runs if run["status"] == "completed")
    assert await expire(MongoProjections(mongo), [last]) == 1
    store = MongoRebuildStore(mongo, DEFAULT_RULES)
    await store.take_over()
    state = replace(await store.begin(JobKind.VERIFY), stage=ReplaySource.EXPIRED)
    pages = [(0, "0")]
    while pages[-1][1]:
        pages.append(await store.expire(state, 5))
        state = replace(state, token=pages[-1][1])
    ids = [run["_id"] for run in runs]
    assert [token for _, token in pages[1:]] == [ids[4], ids[9], ids[14], ids[19], ""]
    assert [count for count, _ in pages[1:]] == [int(last in ids[at : at + 5]) for at in range(0, 25, 5)]


async def test_totals_do_not_depend_on_the_batch_size(mongo: Mongo) -> None:
    world = World(mongo)
    await world.fold(world.made(20))
    assert await find_inconsistencies(mongo, 0) == []
    await mongo.collection(CELLS.collection).update_one({}, {"$inc": {"failed": 1}})
    await mongo.collection(COUNTERS).update_one({"_id": {"$regex": ":test:test-0$"}}, {"$inc": {"runs": 2}})
    await mongo.collection(COUNTERS).update_one({"_id": {"$regex": ":build:build-1$"}}, {"$inc": {"runs": 3}})
    for batch in (1, 7, 100_000):
        inconsistencies = await find_inconsistencies(mongo, 0, batch)
        assert [(sum.id, int(sum.serving) - int(sum.recounted)) for sum in inconsistencies] == [
            ("runs of tests", 2),
            ("runs of builds", 3),
            ("runs in cells", 1),
            ("completed runs in cells", 1),
        ]


@pytest.mark.parametrize(
    ("counter", "field", "names"),
    [
        (":build:build-1$", "passed", ["completed runs of builds"]),
        (":build:build-1$", "infra_failed", ["failed runs of builds"]),
        (":app:[^:]+:[0-9]{4}-[0-9]{2}$", "07_failed", ["completed runs by day"]),
        (":app:[^:]+:[0-9]{4}-[0-9]{2}$", "07_infra_failed", ["failed runs by day"]),
        (":app:[^:]+:[0-9]{4}-[0-9]{2}$", "07_cancelled", ["cancelled runs by day"]),
        (":app:[^:]+:[0-9]{4}-[0-9]{2}$", "07_executions", []),
    ],
)
async def test_verdicts_add_up_to_the_completed_runs(mongo: Mongo, counter: str, field: str, names: list[str]) -> None:
    world = World(mongo)
    await world.fold(world.made(20))
    changed = await mongo.collection(COUNTERS).update_one({"_id": {"$regex": counter}}, {"$inc": {field: 1}})
    assert changed.matched_count == 1
    assert [(sum.id, int(sum.serving) - int(sum.recounted)) for sum in await find_inconsistencies(mongo, 0)] == [
        (name, 1) for name in names
    ]
