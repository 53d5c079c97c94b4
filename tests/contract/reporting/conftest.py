"""The read models under test: in memory, and in MongoDB through both drivers."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.reporting.model.tables import Tables
from services.reporting.ports import CatalogTests, ExpirableRuns, Projections, ReadModels, Verdicts
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoCatalogTests, MongoReadModels
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.storage.verdicts import MongoVerdicts
from tests.contract.reporting.tables import read_tables
from tests.fakes.reporting_catalog_tests import FakeCatalogTests
from tests.fakes.reporting_expirable_runs import FakeExpirableRuns
from tests.fakes.reporting_read_models import FakeProjections, FakeReadModels
from tests.fakes.reporting_verdicts import FakeVerdicts


@dataclass
class MemoryStore:
    """The read models in memory."""

    def __init__(self) -> None:
        self._folds = FakeProjections()
        self.folds: Projections = self._folds
        self.read_models: ReadModels = FakeReadModels(self._folds.tables)
        self.listed: ExpirableRuns = FakeExpirableRuns(self._folds.tables)
        self.copied_tests: CatalogTests = FakeCatalogTests(self._folds.tables)
        self.verdicts: Verdicts = FakeVerdicts(self._folds.tables)
        self.scanned_verdicts = self.verdicts

    async def tables(self) -> Tables:
        """Everything that is stored."""
        return self._folds.tables

    async def clear(self) -> None:
        """Delete everything."""
        self.__init__()  # type: ignore[misc]


class MongoStore:
    """The read models in MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self.folds: Projections = MongoProjections(mongo)
        self.read_models: ReadModels = MongoReadModels(mongo)
        self.listed: ExpirableRuns = MongoExpirableRuns(mongo)
        self.copied_tests: CatalogTests = MongoCatalogTests(mongo)
        self.verdicts: Verdicts = MongoVerdicts(mongo)
        self.scanned_verdicts: Verdicts = MongoVerdicts(mongo, fewest_scanned=1)

    async def tables(self) -> Tables:
        """Everything that is stored."""
        return await read_tables(self._mongo)

    async def clear(self) -> None:
        """Delete everything."""
        for name in (*(kind.collection for kind in TABLE_CODECS), COUNTERS):
            await self._mongo.collection(name).delete_many({})


Store = MemoryStore | MongoStore


@pytest.fixture(scope="module")
def read_models_database(mongo_client: MongoClient[dict[str, Any]]) -> Iterator[str]:
    """A database that the tests of a module share, since creating its collections and indexes takes a while."""
    name = f"test_{uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@pytest.fixture(params=["memory", "motor", "pymongo"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryStore()
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("read_models_database")
    async with open_migrated(uri, database, MIGRATIONS, request.param) as mongo:
        store = MongoStore(mongo)
        await store.clear()
        yield store
