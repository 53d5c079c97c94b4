"""The catalog's storage on MongoDB: one database for the whole run, emptied after each test."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from pymongo import MongoClient

from services.catalog.events import SOURCE
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.migrations import MIGRATIONS, RULES
from services.catalog.storage.store import MongoStore
from services.chassis import context
from services.chassis.clock import SystemClock
from services.chassis.context import Caller
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Driver, Mongo
from services.chassis.outbox import OUTBOX, Outbox


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """A caller of a new organisation."""
    with context.bind(Caller(org_id=str(uuid4()))) as caller:
        yield caller


def foreign() -> Any:
    """A block with a caller of another organisation."""
    return context.bind(Caller(org_id=str(uuid4())))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def database(
    mongo_uri: str, mongo_client: MongoClient[dict[str, Any]], mongo_driver: Driver
) -> AsyncIterator[Mongo]:
    """A database with the catalog's collections."""
    async with open_migrated(mongo_uri, f"test_{uuid4().hex}", MIGRATIONS, mongo_driver) as mongo:
        yield mongo
    mongo_client.drop_database(mongo.database.name)


@pytest.fixture
def mongo(database: Mongo, mongo_client: MongoClient[dict[str, Any]]) -> Iterator[Mongo]:
    """The database, empty."""
    yield database
    collections = mongo_client[database.database.name]
    for name in (*RULES, OUTBOX):
        collections[name].delete_many({})


@pytest.fixture
def store(mongo: Mongo) -> MongoStore:
    return MongoStore(mongo, Outbox(mongo, SOURCE), SystemClock())


@pytest.fixture
def ring(mongo: Mongo) -> MongoKeyRing:
    return MongoKeyRing(mongo)
