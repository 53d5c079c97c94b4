"""The step cache's memories in a dictionary; `down` makes every call fail with it, `slow` never answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from services.executor.automation.screen.fingerprint import ScreenFingerprint
from services.executor.automation.step_cache.entries import SCREENS_LIMIT, CachedSentence, CacheEntry


class FakeStepCacheStore:
    """The port `Memories`; `calls` counts what it was asked."""

    def __init__(self) -> None:
        self.pages: dict[str, CachedSentence] = {}
        self.down: Exception | None = None
        self.slow = False
        self.calls = 0

    async def page(self, key: str) -> CachedSentence | None:
        await self._called()
        return self.pages.get(key)

    async def keep(self, key: str, org_id: str, memory: CacheEntry) -> None:
        await self._called()
        page = self.pages.get(key, CachedSentence())
        others = tuple(other for other in page.memories if other.screen != memory.screen)
        self.pages[key] = replace(page, memories=(memory, *others)[:SCREENS_LIMIT])

    async def keep_plan(self, key: str, org_id: str, plan: Sequence[str]) -> None:
        await self._called()
        self.pages[key] = replace(self.pages.get(key, CachedSentence()), plan=tuple(plan))

    async def drop(self, key: str, screens: Sequence[ScreenFingerprint]) -> None:
        await self._called()
        page = self.pages.get(key, CachedSentence())
        self.pages[key] = CachedSentence(tuple(memory for memory in page.memories if memory.screen not in screens))

    async def _called(self) -> None:
        self.calls += 1
        if self.slow:
            await asyncio.Event().wait()
        if self.down is not None:
            raise self.down
