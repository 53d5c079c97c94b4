"""The step cache: what carried out a sentence before, found again on a screen with other data, or not at all."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from hashlib import sha256
from time import monotonic
from typing import Any, TypeVar

from mobiletest_automation import logs, telemetry
from mobiletest_automation.model.results import CacheOutcome
from mobiletest_automation.ports import CacheLookup, ChosenAction, GetScreen, StepCacheKey, StoredSteps
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.fingerprint import fingerprint_of, same_screen
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.step_cache.action_entry import make_entry, restore_action
from mobiletest_automation.step_cache.entries import CachedSentence, StepCacheStore, recording_names

# How long a step waits for the store.
TIMEOUT_SECONDS = 1.0
# How long a store that failed is not called.
PAUSE_SECONDS = 10.0

_QUOTES = "\"'“”‘’«»`"

T = TypeVar("T")
log = logs.get(__name__)


class StoredStepCache:
    """The port `StepCache` on a store.

    A store that fails costs at most TIMEOUT_SECONDS and is not called for PAUSE_SECONDS; until then every lookup is a
    miss. Exceptions of `look`, which reads the device, are passed on.
    """

    def __init__(
        self, store: StepCacheStore, *, timeout: float = TIMEOUT_SECONDS, pause: float = PAUSE_SECONDS
    ) -> None:
        self._store = store
        self._timeout = timeout
        self._pause = pause
        self._paused_until = float("-inf")

    async def lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        cache_lookup = await self._lookup(key, look)
        telemetry.step_cache.labels(cache_lookup.outcome).inc()
        return cache_lookup

    async def _lookup(self, key: StepCacheKey, look: GetScreen) -> CacheLookup:
        cached = await self._load(key)
        if cached is None:
            return CacheLookup(CacheOutcome.MISS)
        if cached.plan:
            return CacheLookup(CacheOutcome.HIT, StoredSteps(cached.plan))
        tree = await look()
        present = fingerprint_of(tree)
        entry = next((entry for entry in cached.entries if same_screen(entry.screen, present)), None)
        if entry is None:
            return CacheLookup(CacheOutcome.MISS)
        action = restore_action(entry, normalize_spaces(key.sentence), Outline(tree))
        return CacheLookup(CacheOutcome.STALE) if action is None else CacheLookup(CacheOutcome.HIT, action)

    async def store(self, key: StepCacheKey, tree: Element, worked: ChosenAction | StoredSteps) -> None:
        """What cannot be stored removes what was: that does not carry the sentence out any more."""
        if isinstance(worked, StoredSteps):
            if await self._is_complete(key, worked):
                await self._call(lambda: self._store.set_plan(_hash(key), key.org_id, worked.steps))
            return
        entry = make_entry(worked, normalize_spaces(key.sentence), Outline(tree))
        if entry is None:
            await self.discard(key, tree)
        else:
            await self._call(lambda: self._store.add(_hash(key), key.org_id, entry))

    async def _is_complete(self, key: StepCacheKey, steps: StoredSteps) -> bool:
        """Whether each action of a recording is stored: half a recording would fail each time."""
        sentence = steps.steps[0].rpartition(" (action ")[0] if steps.steps else ""
        if not sentence or steps.steps != recording_names(sentence, len(steps.steps)):
            return True
        recorded = [await self._load(replace(key, sentence=name)) for name in steps.steps]
        return all(cached is not None and cached.entries for cached in recorded)

    async def discard(self, key: StepCacheKey, tree: Element) -> None:
        cached = await self._load(key)
        if cached is None:
            return
        present = fingerprint_of(tree)
        screens = [entry.screen for entry in cached.entries if same_screen(entry.screen, present)]
        if screens or cached.plan:
            await self._call(lambda: self._store.remove(_hash(key), screens))

    async def _load(self, key: StepCacheKey) -> CachedSentence | None:
        return await self._call(lambda: self._store.load(_hash(key)))

    async def _call(self, operation: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """What the store answers; None if it fails, or failed a short while ago."""
        if monotonic() < self._paused_until:
            return None
        try:
            async with asyncio.timeout(self._timeout):
                return await operation()
        except Exception as error:
            self._paused_until = monotonic() + self._pause
            telemetry.step_cache_failures.inc()
            log.warning("step_cache_away", rest_seconds=self._pause, error=repr(error))
            return None


def normalize_spaces(sentence: str) -> str:
    """One space for several; but a quoted text may consist of spaces, so a sentence with quotes is only stripped."""
    plain = sentence.strip()
    return plain if any(quote in plain for quote in _QUOTES) else " ".join(plain.split())


def _hash(key: StepCacheKey) -> str:
    parts = (key.org_id, key.app, key.platform, normalize_spaces(key.sentence))
    return sha256("\0".join(parts).encode()).hexdigest()
