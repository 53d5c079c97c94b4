"""The store of the step cache, in memory and on MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.executor.automation.ports import ChosenAction, StepCacheKey
from services.executor.automation.screen.elements import Element, Role
from services.executor.automation.screen.fingerprint import ScreenFingerprint
from services.executor.automation.screen.locators import Locator
from services.executor.automation.sentences.intents import Action
from services.executor.automation.step_cache.cache import StoredStepCache
from services.executor.automation.step_cache.entries import (
    SCREENS_LIMIT,
    CachedSentence,
    CacheEntry,
    RelativePoint,
    SentenceSpan,
    StepCacheStore,
)
from services.executor.model.attempts import CacheOutcome
from services.executor.storage.schema import MIGRATIONS, STEP_CACHE
from services.executor.storage.step_cache import MongoStepCache
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.executor.automation import sample_screens

ORG = "org"
DAYS = 30.0


def entry(screen: str = "a", **fields: Any) -> CacheEntry:
    return CacheEntry(**{"screen": ScreenFingerprint(screen, ("f1", "f2")), "action": Action.TAP, **fields})


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StepCacheStore]:
    if request.param == "fake":
        yield FakeStepCacheStore()
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("shared_database")
    async with open_migrated(uri, database, MIGRATIONS, request.param) as mongo:
        yield MongoStepCache(mongo, DAYS)


@pytest.fixture
def key() -> str:
    return uuid4().hex


async def test_an_entry_is_loaded_as_it_was_added(store: StepCacheStore, key: str) -> None:
    whole = entry(
        target=Locator(Role.BUTTON, "pay", text="$pay", row="blue mug", checked=False, equals=2, ordinal=1, x=0.5),
        spot=RelativePoint(0.5, 0.25, 0.56),
        ruled=True,
        value="$down",
        span=SentenceSpan(3, 9),
        content="abc",
    )
    await store.add(key, ORG, whole)
    assert await store.load(key) == CachedSentence((whole,))
    assert await store.load(uuid4().hex) is None


async def test_the_newest_entry_comes_first_and_replaces_that_of_its_screen(store: StepCacheStore, key: str) -> None:
    for screen in ("a", "b", "c"):
        await store.add(key, ORG, entry(screen))
    newer = entry("a", value="enter")
    await store.add(key, ORG, newer)
    assert await store.load(key) == CachedSentence((newer, entry("c"), entry("b")))


async def test_the_number_of_entries_is_limited(store: StepCacheStore, key: str) -> None:
    for number in range(SCREENS_LIMIT + 3):
        await store.add(key, ORG, entry(str(number)))
    page = await store.load(key)
    assert page is not None
    assert [kept.screen.fixed for kept in page.entries] == [str(n) for n in range(SCREENS_LIMIT + 2, 2, -1)]


async def test_plan_and_entries_are_stored_together_and_removed_by_screen(store: StepCacheStore, key: str) -> None:
    await store.remove(key, [ScreenFingerprint("a")])
    await store.set_plan(key, ORG, ("Tap $a", "Tap b"))
    await store.add(key, ORG, entry("a"))
    await store.add(key, ORG, entry("b"))
    assert await store.load(key) == CachedSentence((entry("b"), entry("a")), ("Tap $a", "Tap b"))
    await store.remove(key, [entry("a").screen])
    assert await store.load(key) == CachedSentence((entry("b"),))


@pytest.mark.parametrize(("age_days", "renewed"), [(0.5, False), (2.0, True)])
async def test_use_extends_the_life_of_a_sentence(
    mongo_uri: str,
    shared_database: str,
    mongo_client: MongoClient[dict[str, Any]],
    key: str,
    age_days: float,
    renewed: bool,
) -> None:
    pages = mongo_client[shared_database][STEP_CACHE]
    now = datetime.now(UTC)
    async with open_migrated(mongo_uri, shared_database, MIGRATIONS) as mongo:
        store = MongoStepCache(mongo, DAYS)
        await store.add(key, ORG, entry())
        pages.update_one({"_id": key}, {"$set": {"expires_at": now + timedelta(days=DAYS - age_days)}})
        assert await store.load(key) == CachedSentence((entry(),))
    left = pages.find_one({"_id": key})["expires_at"].replace(tzinfo=UTC) - now  # type: ignore[index]
    assert (left > timedelta(days=DAYS - 0.25)) is renewed
    assert pages.index_information()["expiry"]["expireAfterSeconds"] == 0


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_an_unavailable_database_is_an_empty_cache(driver: Literal["motor", "pymongo"]) -> None:
    mongo = Mongo.unconnected("mongodb://127.0.0.1:1", "nowhere", driver)
    cache = StoredStepCache(MongoStepCache(mongo, DAYS), timeout=0.05)
    tree = sample_screens.android_cart()
    step = StepCacheKey("org", "app", "android", "Check out")

    async def look() -> Element:
        raise AssertionError("there is nothing to look for")

    async with asyncio.timeout(20):
        for _ in range(3):
            assert (await cache.lookup(step, look)).outcome is CacheOutcome.MISS
            await cache.store(step, tree, ChosenAction(Action.TAP, tree.children[3]))
            await cache.discard(step, tree)
    await mongo.close()
