import asyncio

from services.chassis.leases import LEASES, MongoLease
from services.chassis.mongo import Mongo


async def test_a_lease_has_one_owner_until_that_one_releases_it(mongo: Mongo) -> None:
    first, second = (MongoLease(mongo, "sweeper", owner, seconds=60) for owner in ("a", "b"))
    assert await first.acquire()
    assert not await second.acquire()
    assert await first.acquire()
    await second.release()
    assert not await second.acquire()
    await first.release()
    assert await second.acquire()


async def test_an_expired_lease_is_free(mongo: Mongo) -> None:
    first, second = (MongoLease(mongo, "sweeper", owner, seconds=60) for owner in ("a", "b"))
    assert await first.acquire()
    long_ago = {"$set": {"expires_at": {"$subtract": ["$$NOW", 1]}}}
    await mongo.collection(LEASES).update_one({"_id": "sweeper"}, [long_ago])
    assert await second.acquire()
    assert not await first.acquire()


async def test_one_of_many_concurrent_owners_gets_the_lease(mongo: Mongo) -> None:
    leases = [MongoLease(mongo, "sweeper", f"owner-{n}", seconds=60) for n in range(10)]
    assert sum(await asyncio.gather(*(lease.acquire() for lease in leases))) == 1


async def test_leases_of_different_names_are_independent(mongo: Mongo) -> None:
    assert await MongoLease(mongo, "one", "a", seconds=60).acquire()
    assert await MongoLease(mongo, "two", "b", seconds=60).acquire()
