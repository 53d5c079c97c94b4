import asyncio
from typing import Any

import pytest
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient

from services.chassis.migrations import MIGRATIONS, Migration, SchemaIsNewer, migrate
from services.chassis.mongo import Driver, Mongo


class Steps:
    """Migrations that note that they were applied."""

    def __init__(self) -> None:
        self.applied: list[str] = []

    def step(self, id_: str, *, fails: bool = False) -> Migration:
        async def apply(_: Mongo) -> None:
            await asyncio.sleep(0)
            if fails:
                raise RuntimeError("broken")
            self.applied.append(id_)

        return Migration(id_, apply)


@pytest.fixture
def steps() -> Steps:
    return Steps()


async def test_migrations_are_applied_in_order_and_once(mongo: Mongo, steps: Steps) -> None:
    await migrate(mongo, [steps.step("1"), steps.step("2")])
    await migrate(mongo, [steps.step("1"), steps.step("2"), steps.step("3")])
    assert steps.applied == ["1", "2", "3"]


async def test_concurrent_processes_apply_each_migration_once(mongo: Mongo, steps: Steps) -> None:
    migrations = [steps.step("1"), steps.step("2"), steps.step("3")]
    await asyncio.gather(*(migrate(mongo, migrations, wait_seconds=0.01) for _ in range(4)))
    assert steps.applied == ["1", "2", "3"]


async def test_a_failed_migration_is_retried_at_the_next_start(mongo: Mongo, steps: Steps) -> None:
    with pytest.raises(RuntimeError):
        await migrate(mongo, [steps.step("1"), steps.step("2", fails=True)])
    await migrate(mongo, [steps.step("1"), steps.step("2")])
    assert steps.applied == ["1", "2"]


async def test_a_migration_may_take_longer_than_other_operations(
    mongo_uri: str, mongo_database: str, mongo_driver: Driver
) -> None:
    async def apply(mongo: Mongo) -> None:
        await mongo.collection("rows").insert_one({})
        slow = mongo.collection("rows").find({"$where": "sleep(1500) || true"})
        assert len(await slow.to_list(None)) == 1

    client: type[Any] = AsyncMongoClient if mongo_driver == "pymongo" else AsyncIOMotorClient
    mongo = Mongo(client(mongo_uri, socketTimeoutMS=500), mongo_database, mongo_driver)
    await migrate(mongo, [Migration("1", apply)])
    await mongo.close()


async def test_a_newer_schema_is_refused(mongo: Mongo, steps: Steps) -> None:
    await migrate(mongo, [steps.step("1"), steps.step("2")])
    with pytest.raises(SchemaIsNewer, match="2"):
        await migrate(mongo, [steps.step("1")])


async def test_migrations_must_be_in_the_order_of_their_ids(mongo: Mongo, steps: Steps) -> None:
    with pytest.raises(ValueError, match="order"):
        await migrate(mongo, [steps.step("2"), steps.step("1")])
    assert await mongo.collection(MIGRATIONS).count_documents({}) == 0
