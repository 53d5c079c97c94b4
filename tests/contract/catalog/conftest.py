"""The store behind each contract: in memory, and on MongoDB under both drivers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.catalog.events import SOURCE
from services.catalog.ports import KeyRing, Store
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.migrations import MIGRATIONS, RULES
from services.catalog.storage.secrets import SECRETS
from services.catalog.storage.store import MongoStore
from services.chassis import context
from services.chassis.clock import SystemClock
from services.chassis.context import Caller
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.outbox import OUTBOX, Outbox
from tests.fakes.catalog import FakeKeyRing, FakeStore


@dataclass(frozen=True)
class Backend:
    """A store, and the key ring over the same keys."""

    store: Store
    ring: KeyRing


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """A caller of a new organisation."""
    with context.bind(Caller(org_id=str(uuid4()))) as caller:
        yield caller


def foreign() -> Any:
    """A block with a caller of another organisation."""
    return context.bind(Caller(org_id=str(uuid4())))


@pytest.fixture(scope="session")
def migrated_database(mongo_uri: str, mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """A database with the catalog's collections, one for the whole run: making them takes longer than most tests."""
    name = f"test_{uuid4().hex}"
    with ThreadPoolExecutor() as aside:  # this thread has a loop already
        aside.submit(asyncio.run, _migrate(mongo_uri, name)).result()
    yield name
    mongo_client.drop_database(name)


async def _migrate(uri: str, database: str) -> None:
    async with open_migrated(uri, database, MIGRATIONS):
        pass


@asynccontextmanager
async def emptied(uri: str, database: str, driver: Literal["motor", "pymongo"]) -> AsyncIterator[Mongo]:
    """A connection to the database, empty again afterwards."""
    mongo = await Mongo.connect(uri, database, driver)
    try:
        yield mongo
    finally:
        for name in (*RULES, SECRETS, OUTBOX):
            await mongo.collection(name).delete_many({})
        await mongo.close()


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    """What is under contract."""
    if request.param == "fake":
        fake = FakeStore()
        yield Backend(fake, FakeKeyRing(fake))
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("migrated_database")
    async with emptied(uri, database, request.param) as mongo:
        yield Backend(MongoStore(mongo, Outbox(mongo, SOURCE), SystemClock()), MongoKeyRing(mongo))


@pytest.fixture
def store(backend: Backend) -> Store:
    """The store under contract."""
    return backend.store


@pytest.fixture
def ring(backend: Backend) -> KeyRing:
    """The key ring under contract."""
    return backend.ring
