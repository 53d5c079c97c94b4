"""The read models in a MongoDB that the tests of a process share: each test finds it empty."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.context import Caller, bind
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Driver
from services.reporting.storage.schema import MIGRATIONS
from tests.contract.reporting.store import MongoStore, StoredStory
from tests.fakes.reporting_story import ORG


@pytest.fixture(scope="session")
def read_models_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """Shared, since creating its collections and indexes takes a while."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@pytest.fixture
async def store(mongo_uri: str, read_models_database: str, mongo_driver: Driver) -> AsyncIterator[MongoStore]:
    async with open_migrated(mongo_uri, read_models_database, MIGRATIONS, mongo_driver) as mongo:
        store = MongoStore(mongo)
        await store.clear()
        yield store


@pytest.fixture
def story(store: MongoStore) -> StoredStory:
    return StoredStory(store)


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    with bind(Caller(ORG)) as caller:
        yield caller
