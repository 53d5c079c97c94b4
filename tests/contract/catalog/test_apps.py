"""The ports Apps and Counters."""

from dataclasses import replace

import pytest

from services.catalog.model.apps import AppFilter
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.storage.store import MongoStore
from services.chassis.mongo_errors import DuplicateValue
from services.chassis.text_search import search_pattern
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import app, at

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVERYTHING = AppFilter()


async def test_an_app_is_kept_as_it_is(store: MongoStore) -> None:
    full = app(
        description="d",
        static_url="https://x.test",
        current_version="2",
        system_prompt="p",
        versions_count=2,
        latest_version="3",
        latest_build_id="b3",
        current_build_id="b2",
        attached_tests=3,
        pinned_tests=1,
        revision=7,
    )
    await store.apps.add(full)
    assert await store.apps.get(full.id) == full
    assert await store.apps.many([full.id, "unknown"]) == [full]


async def test_an_id_is_used_once(store: MongoStore) -> None:
    """Even when its app is deleted: ids are reserved."""
    await store.apps.add(app(deleted_at=at(1)))
    with pytest.raises(DuplicateValue):
        await store.apps.add(app())


async def test_foreign_apps_do_not_exist(store: MongoStore) -> None:
    await store.apps.add(app())
    await store.counters.add(Counts(ios=1))
    with foreign():
        assert await store.apps.get("app") is None
        assert await store.apps.many(["app"]) == []
        assert await store.apps.page(EVERYTHING, Page(1, 10)) == []
        assert await store.apps.count(EVERYTHING) == 0
        assert await store.counters.get() == Counts()


async def test_the_newest_app_comes_first_and_ids_break_ties(store: MongoStore) -> None:
    for id, minutes in (("a", 1), ("b", 2), ("c", 2), ("d", 0)):
        await store.apps.add(app(id, minutes=minutes))
    pages = [await store.apps.page(EVERYTHING, Page(number, 3)) for number in (1, 2, 3)]
    assert [[a.id for a in page] for page in pages] == [["c", "b", "a"], ["d"], []]


async def test_a_filter_by_platform_and_name(store: MongoStore) -> None:
    names = {"a": "Shop Pro", "b": "shopping", "c": "Bank", "d": "Photoshop"}
    for id, name in names.items():
        await store.apps.add(app(id, Platform.IOS if id == "d" else Platform.ANDROID, name=name))
    filter = AppFilter(Platform.ANDROID, search_pattern("SHOP"))
    assert {a.id for a in await store.apps.page(filter, Page(1, 10))} == {"a", "b"}
    assert await store.apps.count(filter) == 2
    assert await store.apps.count(AppFilter(Platform.IOS)) == 1


async def test_a_cached_revision_is_not_shown_for_another(store: MongoStore) -> None:
    await store.apps.add(app())
    for revision in (2, 3):
        changed = replace(app(), name=f"name {revision}", revision=revision)
        await store.apps.replace(changed)
        assert await store.apps.get("app") == changed
