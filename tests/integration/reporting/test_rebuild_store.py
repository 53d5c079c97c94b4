"""What operations ask of MongoDB: nothing that takes as long as there are runs, and nothing that is somebody else's."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from services.chassis.mongo import Mongo
from services.reporting.model.projection import DEFAULT_RULES
from services.reporting.model.retention import expire_runs
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction, RowKeys
from services.reporting.rebuild.consistency_checks import find_inconsistencies
from services.reporting.rebuild.state import Operation, ReplaySource
from services.reporting.rebuild.store import MongoRebuildStore
from services.reporting.storage import MongoProjections
from services.reporting.storage.documents import CELLS, COUNTERS
from tests.integration.reporting.test_rebuild import World


class Halting:
    """A database whose next list of collections comes late: `meanwhile` happens before."""

    def __init__(self, database: Any, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def __getitem__(self, name: str) -> Any:
        return self._database[name]

    async def list_collection_names(self) -> list[str]:
        await self._meanwhile()
        names: list[str] = await self._database.list_collection_names()
        return names


@pytest.fixture
async def slow(mongo_uri: str, mongo_database: str) -> AsyncIterator[Mongo]:
    """The connection of a process that is stopped for a while."""
    mongo = await Mongo.connect(mongo_uri, mongo_database)
    yield mongo
    await mongo.close()


async def collections(mongo: Mongo, generation: int) -> int:
    names = await mongo.database.list_collection_names()
    return sum(name.endswith(f".g{generation}") for name in names)


async def test_who_began_and_lost_an_operation_drops_nothing_of_it(mongo: Mongo, slow: Mongo) -> None:
    other, zombie = MongoRebuildStore(mongo, DEFAULT_RULES), MongoRebuildStore(slow, DEFAULT_RULES)

    async def take_over() -> None:
        state = await other.take_over()
        assert state is not None
        await other.prepare(state)

    await zombie.take_over()
    slow.database = Halting(slow.database, take_over)
    state = await zombie.begin(Operation.VERIFY)
    assert await collections(mongo, state.generation) == 10


async def test_who_ended_an_operation_drops_nothing_of_the_next_one(mongo: Mongo, slow: Mongo) -> None:
    other, zombie = MongoRebuildStore(mongo, DEFAULT_RULES), MongoRebuildStore(slow, DEFAULT_RULES)

    async def begin_another() -> None:
        await other.take_over()
        await other.prepare(await other.begin(Operation.REBUILD))

    await zombie.take_over()
    state = await zombie.begin(Operation.VERIFY)
    await zombie.prepare(state)
    slow.database = Halting(slow.database, begin_another)
    await zombie.finish(state)
    assert await collections(mongo, state.generation) == 0
    assert await collections(mongo, state.generation + 1) == 10


async def test_looking_for_expired_runs_goes_through_the_others_page_by_page(mongo: Mongo) -> None:
    """Among millions of runs none may have expired: a question that ends with the first one would take minutes."""
    world = World(mongo)
    await world.fold(world.made(20))
    runs = await mongo.collection("runs").find({}, {"status": 1}).sort("_id", 1).to_list(None)
    last = max(run["_id"] for run in runs if run["status"] == "completed")
    await MongoProjections(mongo).transaction(lambda transaction: expired(transaction, last))
    bench = MongoRebuildStore(mongo, DEFAULT_RULES)
    await bench.take_over()
    state = replace(await bench.begin(Operation.VERIFY), place=ReplaySource.EXPIRED)
    await bench.prepare(state)
    pages = [(0, "0")]
    while pages[-1][1]:
        pages.append(await bench.expire(state, 5))
        state = replace(state, token=pages[-1][1])
    ids = [run["_id"] for run in runs]
    assert [token for _, token in pages[1:]] == [ids[4], ids[9], ids[14], ids[19], ""]
    assert [count for count, _ in pages[1:]] == [int(last in ids[at : at + 5]) for at in range(0, 25, 5)]


async def expired(transaction: ProjectionTransaction, run_id: str) -> None:
    tables = Tables()
    await transaction.load(tables, RowKeys(runs=[run_id]))
    assert expire_runs(tables, [run_id]) == 1
    await transaction.save(tables)


@pytest.mark.parametrize("piece", [1, 7, 100_000])
async def test_sums_are_the_same_in_pieces_of_any_size(mongo: Mongo, piece: int) -> None:
    world = World(mongo)
    await world.fold(world.made(20))
    assert await find_inconsistencies(mongo, 0, piece) == []
    await mongo.collection(CELLS.collection).update_one({}, {"$inc": {"failed": 1}})
    await mongo.collection(COUNTERS).update_one({"_id": {"$regex": ":test:test-0$"}}, {"$inc": {"runs": 2}})
    await mongo.collection(COUNTERS).update_one({"_id": {"$regex": ":build:build-1$"}}, {"$inc": {"runs": 3}})
    found = await find_inconsistencies(mongo, 0, piece)
    assert [(sum.id, int(sum.serving) - int(sum.recounted)) for sum in found] == [
        ("runs of tests", 2),
        ("runs of builds", 3),
        ("runs in cells", 1),
    ]
