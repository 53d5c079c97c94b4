"""Apps and tests are found by a part of their name through an index, however many others there are."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.catalog.events import SOURCE
from services.catalog.model.apps import App, AppFilter
from services.catalog.model.text import name_suffixes, search_pattern
from services.catalog.model.values import Page, Platform
from services.catalog.storage.migrations import MIGRATIONS
from services.catalog.storage.store import MongoStore
from services.chassis import context
from services.chassis.clock import SystemClock
from services.chassis.migrations import migrate, open_migrated
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox

FOUND = ("a very long name of a shop", "Another very long name of a shop")
PARTS = ("shop", "very long name of a SHOP", "na", "e of a s")
AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def mongo(mongo_uri: str, mongo_database: str) -> AsyncIterator[Mongo]:
    async with open_migrated(mongo_uri, mongo_database, MIGRATIONS) as mongo:
        yield mongo


@pytest.fixture
async def store(mongo: Mongo) -> MongoStore:
    """Two apps among many of other names."""
    store = MongoStore(mongo, Outbox(mongo, SOURCE), SystemClock())
    for name in (*FOUND, *(f"Wallet {number}" for number in range(300))):
        await store.apps.add(App(str(uuid4()), context.current().org_id, name, Platform.IOS, AT, AT))
    return store


async def search(store: MongoStore, part: str) -> tuple[set[str], int]:
    filter = AppFilter(pattern=search_pattern(part))
    found = await store.apps.page(filter, Page(1, 100))
    return {app.name for app in found}, await store.apps.count(filter)


@pytest.mark.parametrize("part", PARTS)
async def test_a_search_reads_what_it_finds(
    store: MongoStore, mongo: Mongo, mongo_client: MongoClient[dict[str, Any]], part: str
) -> None:
    await search(store, part)
    await mongo.database.command("profile", 2)
    assert await search(store, part) == (set(FOUND), 2)
    await mongo.database.command("profile", 0)
    operations = list(mongo_client[mongo.database.name]["system.profile"].find({"ns": f"{mongo.database.name}.apps"}))
    assert operations
    assert max(operation["keysExamined"] for operation in operations) < 20


async def test_rows_of_earlier_versions_are_found(store: MongoStore, mongo: Mongo) -> None:
    """Before the migration has reached them, and when an old process writes during a rollout."""
    await mongo.collection("apps").update_one({"name": FOUND[0]}, {"$unset": {"name_suffixes": ""}})
    for part in PARTS:
        assert await search(store, part) == (set(FOUND), 2)


async def test_the_migration_adds_the_suffixes(store: MongoStore, mongo: Mongo) -> None:
    await mongo.collection("apps").update_many({}, {"$unset": {"name_suffixes": ""}})
    await mongo.collection("_migrations").delete_one({"_id": "0008_name_suffixes"})
    await migrate(mongo, MIGRATIONS)
    async for row in mongo.collection("apps").find({}):
        assert sorted(row["name_suffixes"]) == name_suffixes(row["name_folded"])
