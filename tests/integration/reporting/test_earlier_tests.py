"""A database of the previous version: copies of tests without platform, tags, creation and quarantine."""

from typing import Any

import pytest
from pymongo import MongoClient

from services.chassis.context import Caller, bind
from services.chassis.migrations import MIGRATIONS as APPLIED
from services.chassis.migrations import migrate
from services.chassis.mongo import Mongo
from services.reporting.model.batch import Batch
from services.reporting.model.flaky import Classification
from services.reporting.model.snapshots import TestSnapshot
from services.reporting.model.text_search import search_pattern
from services.reporting.ports import Page, TestFilter
from services.reporting.storage import MIGRATIONS, MongoCatalogTests, MongoProjections, MongoReadModels
from services.reporting.storage.earlier_tests import complete_tests
from services.reporting.usecases import ClassifiedQuery, ClassifiedTests, Projector
from tests.fakes.reporting_attempts import START

ORG = "org-1"
ALL = Page(0, 10)


@pytest.fixture
def earlier(mongo_client: MongoClient[dict[str, Any]], mongo_database: str) -> MongoClient[dict[str, Any]]:
    """Two copies as they were written, the second of a deleted test, and the migration that was known then."""
    database = mongo_client[mongo_database]
    database[APPLIED].insert_one({"_id": "0001_read_models"})
    for number, deleted in enumerate((False, True)):
        copy = {"test_id": f"test-{number}", "org_id": ORG, "revision": 7, "deleted": deleted, "name": "Straße"}
        database["tests"].insert_one({"_id": f"test-{number}", **copy})
    return mongo_client


@pytest.fixture
async def mongo(earlier: object, mongo_uri: str, mongo_database: str) -> Any:
    """The database after the upgrade."""
    mongo = await Mongo.connect(mongo_uri, mongo_database)
    await migrate(mongo, MIGRATIONS)
    yield mongo
    await mongo.close()


async def test_they_are_read_and_found(mongo: Mongo) -> None:
    """By name, on every platform; nothing else is known of them."""
    with bind(Caller(ORG)):
        tests = await MongoReadModels(mongo).tests_by_id(["test-0", "test-1"])
        assert tests == {f"test-{n}": TestSnapshot(f"test-{n}", ORG, 7, bool(n), "Straße") for n in (0, 1)}
        filter = TestFilter(platform="iOS", pattern=search_pattern("STRASSE"))
        assert await MongoCatalogTests(mongo).newest(filter, ALL) == ["test-0"]
        classified = ClassifiedTests(MongoReadModels(mongo), MongoCatalogTests(mongo))
        assert (await classified.list(ClassifiedQuery(Classification.INSUFFICIENT_DATA), ALL)).total == 1


async def test_the_next_change_of_a_test_tells_the_rest(mongo: Mongo) -> None:
    """And completing again leaves it as it is."""
    told = TestSnapshot("test-0", ORG, 8, False, "Straße", "iOS", ("smoke",), 3, START)
    await Projector(MongoProjections(mongo)).apply_events(Batch.of([told]))
    await complete_tests(mongo)
    with bind(Caller(ORG)):
        assert await MongoReadModels(mongo).tests_by_id(["test-0"]) == {"test-0": told}
        assert await MongoCatalogTests(mongo).newest(TestFilter(tag="smoke"), ALL) == ["test-0"]
