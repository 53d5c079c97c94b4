"""What the step cache keeps, in memory and on MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from uuid import uuid4

import pytest
from pymongo import MongoClient

from services.chassis.migrations import migrate
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
from services.executor.storage.schema import MIGRATIONS
from services.executor.storage.step_cache import STEP_MEMORIES, MongoStepCache
from tests.fakes.step_cache import FakeStepCacheStore
from tests.unit.executor.automation import sample_screens

ORG = "org"
DAYS = 30.0


def memory(screen: str = "a", **fields: Any) -> CacheEntry:
    return CacheEntry(**{"screen": ScreenFingerprint(screen, ("f1", "f2")), "action": Action.TAP, **fields})


@pytest.fixture(params=["fake", "motor", "pymongo"])
async def memories(request: pytest.FixtureRequest) -> AsyncIterator[StepCacheStore]:
    if request.param == "fake":
        yield FakeStepCacheStore()
        return
    uri, database = request.getfixturevalue("mongo_uri"), request.getfixturevalue("shared_database")
    mongo = await Mongo.connect(uri, database, request.param)
    await migrate(mongo, MIGRATIONS)
    yield MongoStepCache(mongo, DAYS)
    await mongo.close()


@pytest.fixture
def key() -> str:
    return uuid4().hex


async def test_what_is_kept_comes_back_as_it_was(memories: StepCacheStore, key: str) -> None:
    whole = memory(
        target=Locator(Role.BUTTON, "pay", text="$pay", row="blue mug", checked=False, equals=2, ordinal=1, x=0.5),
        spot=RelativePoint(0.5, 0.25, 0.56),
        ruled=True,
        value="$down",
        span=SentenceSpan(3, 9),
        content="abc",
    )
    await memories.add(key, ORG, whole)
    assert await memories.load(key) == CachedSentence((whole,))
    assert await memories.load(uuid4().hex) is None


async def test_the_newest_comes_first_and_takes_the_place_of_its_screen(memories: StepCacheStore, key: str) -> None:
    for screen in ("a", "b", "c"):
        await memories.add(key, ORG, memory(screen))
    newer = memory("a", value="enter")
    await memories.add(key, ORG, newer)
    assert await memories.load(key) == CachedSentence((newer, memory("c"), memory("b")))


async def test_the_number_of_screens_is_bounded(memories: StepCacheStore, key: str) -> None:
    for number in range(SCREENS_LIMIT + 3):
        await memories.add(key, ORG, memory(str(number)))
    page = await memories.load(key)
    assert page is not None
    assert [kept.screen.fixed for kept in page.entries] == [str(n) for n in range(SCREENS_LIMIT + 2, 2, -1)]


async def test_a_plan_and_answers_share_a_page_and_are_dropped_by_screen(memories: StepCacheStore, key: str) -> None:
    await memories.remove(key, [ScreenFingerprint("a")])
    await memories.set_plan(key, ORG, ("Tap $a", "Tap b"))
    await memories.add(key, ORG, memory("a"))
    await memories.add(key, ORG, memory("b"))
    assert await memories.load(key) == CachedSentence((memory("b"), memory("a")), ("Tap $a", "Tap b"))
    await memories.remove(key, [memory("a").screen])
    assert await memories.load(key) == CachedSentence((memory("b"),))


@pytest.mark.parametrize(("age_days", "renewed"), [(0.5, False), (2.0, True)])
async def test_a_page_that_is_used_lives_on(
    mongo_uri: str,
    shared_database: str,
    mongo_client: MongoClient[dict[str, Any]],
    key: str,
    age_days: float,
    renewed: bool,
) -> None:
    mongo = await Mongo.connect(mongo_uri, shared_database, "motor")
    await migrate(mongo, MIGRATIONS)
    pages = mongo_client[shared_database][STEP_MEMORIES]
    memories = MongoStepCache(mongo, DAYS)
    await memories.add(key, ORG, memory())
    now = datetime.now(UTC)
    expiry = now + timedelta(days=DAYS - age_days)
    pages.update_one({"_id": key}, {"$set": {"expires_at": expiry}})
    assert await memories.load(key) == CachedSentence((memory(),))
    left = pages.find_one({"_id": key})["expires_at"].replace(tzinfo=UTC) - now  # type: ignore[index]
    assert (left > timedelta(days=DAYS - 0.25)) is renewed
    assert pages.index_information()["expiry"]["expireAfterSeconds"] == 0
    await mongo.close()


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_a_database_that_is_away_is_a_cache_that_knows_nothing(driver: Literal["motor", "pymongo"]) -> None:
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
