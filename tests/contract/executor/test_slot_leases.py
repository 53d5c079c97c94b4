"""The port `SlotLeases`: several workers share the slots of a pool."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest

from services.chassis.mongo import Mongo
from services.executor.pools.slots import SlotLeases
from services.executor.storage.workers import SLOTS, MongoSlotLeases


@dataclass
class Workers:
    """The leases of workers by their name, and what happens when one of them has been silent for too long."""

    leases: Callable[[str], SlotLeases]
    expire: Callable[[str], Awaitable[None]]


@pytest.fixture
def workers(mongo: Mongo) -> Workers:
    async def end(worker: str) -> None:
        until = {"$cond": [{"$eq": ["$$this.worker", worker]}, "$$NOW", "$$this.until"]}
        leases = {"$map": {"input": "$leases", "in": {"$mergeObjects": ["$$this", {"until": until}]}}}
        await mongo.collection(SLOTS).update_many({}, [{"$set": {"leases": leases}}])

    return Workers(lambda worker: MongoSlotLeases(mongo, worker, seconds=600), end)


@pytest.fixture
def pool() -> str:
    return f"emulators at http://{uuid4().hex}:4723"


async def test_workers_share_the_slots_of_a_pool(workers: Workers, pool: str) -> None:
    first, second = workers.leases("a"), workers.leases("b")
    assert [await first.take(pool, 3), await second.take(pool, 3), await first.take(pool, 3)] == [1, 2, 3]
    assert await first.take(pool, 3) is None
    assert await second.take(pool, 3) is None
    assert await second.take(f"another {pool}", 1) == 1
    others = await first.count_others([pool, f"another {pool}", f"unused {pool}"])
    assert {name: count for name, count in others.items() if count} == {pool: 1, f"another {pool}": 1}


async def test_one_of_many_workers_gets_the_last_slot(workers: Workers, pool: str) -> None:
    taken = await asyncio.gather(*(workers.leases(f"worker-{n}").take(pool, 3) for n in range(20)))
    assert sorted(slot for slot in taken if slot is not None) == [1, 2, 3]


async def test_what_is_not_kept_is_free(workers: Workers, pool: str) -> None:
    first, second = workers.leases("a"), workers.leases("b")
    for _ in range(3):
        await first.take(pool, 3)
    await first.keep({pool: {1, 3}})
    assert await second.take(pool, 3) == 2
    await first.keep({pool: set()})
    assert (await second.count_others([pool]))[pool] == 0


async def test_the_slots_of_a_lost_worker_become_free(workers: Workers, pool: str) -> None:
    lost, other = workers.leases("lost"), workers.leases("other")
    assert await lost.take(pool, 1) == 1
    assert await other.take(pool, 1) is None
    await workers.expire("lost")
    assert (await other.count_others([pool])).get(pool, 0) == 0
    assert await other.take(pool, 1) == 1


async def test_a_worker_that_returns_late_keeps_what_it_still_uses(workers: Workers, pool: str) -> None:
    """Its sessions are there, so others must not count on these slots."""
    late, other = workers.leases("late"), workers.leases("other")
    await late.take(pool, 2)
    await workers.expire("late")
    await late.keep({pool: {1}})
    assert await other.take(pool, 2) == 2
    assert await other.take(pool, 2) is None
