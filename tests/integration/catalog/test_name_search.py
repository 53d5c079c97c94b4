"""Apps and tests are found by a part of their name through an index, however many others there are."""

from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.catalog.events import SOURCE
from services.catalog.model.apps import AppFilter
from services.catalog.model.values import Page
from services.catalog.storage.apps import to_document
from services.catalog.storage.store import MongoStore
from services.chassis.clock import SystemClock
from services.chassis.mongo import Mongo
from services.chassis.outbox import Outbox
from services.chassis.text_search import search_pattern
from tests.fakes.catalog_samples import app

FOUND = ("a very long name of a shop", "Another very long name of a shop")
PARTS = ("shop", "very long name of a SHOP", "na", "e of a s")

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def search(store: MongoStore, part: str) -> tuple[set[str], int]:
    filter = AppFilter(pattern=search_pattern(part))
    apps = await store.apps.page(filter, Page(1, 100))
    return {app.name for app in apps}, await store.apps.count(filter)


async def test_a_search_reads_what_it_finds(storage: Mongo, mongo_client: MongoClient[dict[str, Any]]) -> None:
    store = MongoStore(storage, Outbox(storage, SOURCE), SystemClock())
    names = (*FOUND, *(f"Wallet {number}" for number in range(300)))
    rows = [to_document(app(str(uuid4()), name=name)) for name in names]
    database = mongo_client[storage.database.name]
    database["apps"].insert_many(rows)
    database.command("profile", 2)
    results = [await search(store, part) for part in PARTS]
    database.command("profile", 0)
    assert results == [(set(FOUND), 2)] * len(PARTS)
    operations = list(database["system.profile"].find({"ns": f"{storage.database.name}.apps", "op": {"$ne": "insert"}}))
    assert len(operations) >= 2 * len(PARTS)
    assert max(operation["keysExamined"] for operation in operations) < 20
