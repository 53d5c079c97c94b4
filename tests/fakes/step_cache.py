"""A store of the step cache in memory; `down` makes every call fail with it, with `slow` no call ends."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from mobiletest_automation.screen.fingerprint import ScreenFingerprint
from mobiletest_automation.step_cache.entries import SCREENS_LIMIT, CachedSentence, CacheEntry


class FakeStepCacheStore:
    """The port `StepCacheStore`; `calls` counts the calls."""

    def __init__(self) -> None:
        self.cached: dict[str, CachedSentence] = {}
        self.down: Exception | None = None
        self.slow = False
        self.calls = 0

    async def load(self, key: str) -> CachedSentence | None:
        await self._count_call()
        return self.cached.get(key)

    async def add(self, key: str, org_id: str, entry: CacheEntry) -> None:
        await self._count_call()
        cached = self.cached.get(key, CachedSentence())
        others = tuple(other for other in cached.entries if other.screen != entry.screen)
        self.cached[key] = replace(cached, entries=(entry, *others)[:SCREENS_LIMIT])

    async def set_plan(self, key: str, org_id: str, plan: Sequence[str]) -> None:
        await self._count_call()
        self.cached[key] = replace(self.cached.get(key, CachedSentence()), plan=tuple(plan))

    async def remove(self, key: str, screens: Sequence[ScreenFingerprint]) -> None:
        await self._count_call()
        cached = self.cached.get(key, CachedSentence())
        self.cached[key] = CachedSentence(tuple(entry for entry in cached.entries if entry.screen not in screens))

    async def _count_call(self) -> None:
        self.calls += 1
        if self.slow:
            await asyncio.Event().wait()
        if self.down is not None:
            raise self.down
