"""Looks sentences up in a step cache."""

from mobiletest_automation.model.results import CacheOutcome
from mobiletest_automation.ports import CacheLookup, ChosenAction, StepCacheKey
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.step_cache.cache import StoredStepCache
from tests.fakes.step_cache import FakeStepCacheStore

HIT, MISS, STALE = CacheOutcome.HIT, CacheOutcome.MISS, CacheOutcome.STALE


def key(sentence: str, **fields: str) -> StepCacheKey:
    return StepCacheKey(**{"org_id": "org", "app": "app", "platform": "android", "sentence": sentence, **fields})


def find(tree: Element, name: str, nth: int = 0) -> Element:
    return [each for each in walk(tree) if name in (each.text, each.label, each.id.rsplit("/", 1)[-1])][nth]


async def recalled(cache: StoredStepCache, sentence: str, tree: Element, **fields: str) -> CacheLookup:
    async def look() -> Element:
        return tree

    return await cache.lookup(key(sentence, **fields), look)


async def after(sentence: str, first: Element, answer: ChosenAction, then: Element) -> CacheLookup:
    """What a lookup on `then` finds after the action was stored on `first`."""
    cache = StoredStepCache(FakeStepCacheStore())
    await cache.store(key(sentence), first, answer)
    return await recalled(cache, sentence, then)
