"""The store of the step cache."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from mobiletest_automation.model.results import CacheOutcome
from mobiletest_automation.ports import ChosenAction, StepCacheKey
from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.fingerprint import ScreenFingerprint
from mobiletest_automation.screen.locators import Locator
from mobiletest_automation.sentences.intents import Action
from mobiletest_automation.step_cache.cache import StoredStepCache
from mobiletest_automation.step_cache.entries import (
    SCREENS_LIMIT,
    CachedSentence,
    CacheEntry,
    RelativePoint,
    SentenceSpan,
)
from services.chassis.mongo import Driver, Mongo
from services.executor.storage.schema import STEP_CACHE
from services.executor.storage.step_cache import MongoStepCache
from tests.unit.automation import sample_screens

ORG = "org"
DAYS = 30.0


def entry(screen: str = "a", **fields: Any) -> CacheEntry:
    return CacheEntry(**{"screen": ScreenFingerprint(screen, ("f1", "f2")), "action": Action.TAP, **fields})


@pytest.fixture
def store(mongo: Mongo) -> MongoStepCache:
    return MongoStepCache(mongo, DAYS)


@pytest.fixture
def key() -> str:
    return uuid4().hex


async def test_an_entry_is_loaded_as_it_was_added(store: MongoStepCache, key: str) -> None:
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


async def test_the_newest_entry_comes_first_and_replaces_that_of_its_screen(store: MongoStepCache, key: str) -> None:
    for screen in ("a", "b", "c"):
        await store.add(key, ORG, entry(screen))
    newer = entry("a", value="enter")
    await store.add(key, ORG, newer)
    assert await store.load(key) == CachedSentence((newer, entry("c"), entry("b")))


async def test_the_number_of_entries_is_limited(store: MongoStepCache, key: str) -> None:
    for number in range(SCREENS_LIMIT + 3):
        await store.add(key, ORG, entry(str(number)))
    page = await store.load(key)
    assert page is not None
    assert [kept.screen.fixed for kept in page.entries] == [str(n) for n in range(SCREENS_LIMIT + 2, 2, -1)]


async def test_plan_and_entries_are_stored_together_and_removed_by_screen(store: MongoStepCache, key: str) -> None:
    await store.remove(key, [ScreenFingerprint("a")])
    await store.set_plan(key, ORG, ("Tap $a", "Tap b"))
    await store.add(key, ORG, entry("a"))
    await store.add(key, ORG, entry("b"))
    assert await store.load(key) == CachedSentence((entry("b"), entry("a")), ("Tap $a", "Tap b"))
    await store.remove(key, [entry("a").screen])
    assert await store.load(key) == CachedSentence((entry("b"),))


@pytest.mark.parametrize(("age_days", "renewed"), [(0.5, False), (2.0, True)])
async def test_use_extends_the_life_of_a_sentence(
    store: MongoStepCache, mongo: Mongo, key: str, age_days: float, renewed: bool
) -> None:
    sentences = mongo.collection(STEP_CACHE)
    now = datetime.now(UTC)
    await store.add(key, ORG, entry())
    await sentences.update_one({"_id": key}, {"$set": {"expires_at": now + timedelta(days=DAYS - age_days)}})
    assert await store.load(key) == CachedSentence((entry(),))
    left = (await sentences.find_one({"_id": key}))["expires_at"] - now
    assert (left > timedelta(days=DAYS - 0.25)) is renewed
    assert (await sentences.index_information())["expiry"]["expireAfterSeconds"] == 0


async def test_an_unavailable_database_is_an_empty_cache(mongo_driver: Driver) -> None:
    mongo = Mongo.unconnected("mongodb://127.0.0.1:1", "nowhere", mongo_driver)
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


async def test_an_organisation_has_a_limited_number_of_sentences(mongo: Mongo) -> None:
    """Beyond it new ones are not cached, in this process or another; those that are there go on, and so do others."""
    store, org_id = MongoStepCache(mongo, DAYS, limit=2), uuid4().hex
    keys = [uuid4().hex for _ in range(4)]
    for key in keys:
        await store.add(key, org_id, entry())
    await MongoStepCache(mongo, DAYS, limit=2).set_plan(keys[3], org_id, ["Tap Pay"])
    assert [await store.load(key) is not None for key in keys] == [True, True, False, False]
    await store.add(keys[0], org_id, entry("b"))
    assert await store.load(keys[0]) == CachedSentence((entry("b"), entry()))
    await store.add(keys[2], uuid4().hex, entry())
    assert await store.load(keys[2]) is not None
