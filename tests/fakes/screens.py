"""Kept screens in memory; `down` makes every call fail with it, with `slow` no call ends."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import count

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import NotFound
from services.executor.model.screens import ScreenKey, StoredScreen
from services.executor.ports.screens import SCREEN_NOT_FOUND


class FakeScreens:
    """The ports `Screens`, `WrittenScreens` and `RetainedScreens`; `calls` counts the calls."""

    def __init__(self) -> None:
        self.kept: dict[ScreenKey, StoredScreen] = {}
        self.contents: dict[str, bytes] = {}
        self.down: Exception | None = None
        self.slow = False
        self.calls = 0
        self._numbers = count()

    async def refresh(self, key: ScreenKey, day: date) -> bool:
        await self._count_call()
        screen = self.kept.get(key)
        if screen is None:
            return False
        self.kept[key] = replace(screen, used_on=max(day, screen.used_on))
        return True

    async def store(self, key: ScreenKey, content: bytes, content_type: str, day: date) -> None:
        if await self.refresh(key, day):
            return
        object_key = f"{key.org_id}/{key.hash}/{next(self._numbers)}"
        self.contents[object_key] = content
        self.kept[key] = StoredScreen(key, content_type, len(content), day, object_key)

    async def find(self, key: ScreenKey) -> StoredScreen | None:
        await self._count_call()
        return self.kept.get(key)

    async def read(self, screen: StoredScreen, part: FilePart | None = None) -> AsyncIterator[bytes]:
        await self._count_call()
        content = self.contents.get(screen.object_key)
        if content is None:
            if self.kept.get(screen.key) == screen:
                del self.kept[screen.key]
            raise NotFound("deleted", reason=SCREEN_NOT_FOUND)
        yield content if part is None else content[part.start : part.end]

    async def used_bytes(self, org_id: str) -> int:
        await self._count_call()
        return sum(screen.counted_bytes for screen in self._of(org_id))

    async def organisations(self) -> Sequence[str]:
        return list(dict.fromkeys(key.org_id for key in self.kept))

    async def unused_since(self, day: date, limit: int) -> Sequence[StoredScreen]:
        return [screen for screen in self.kept.values() if screen.used_on < day][:limit]

    async def least_used(self, org_id: str, excess: int, limit: int) -> Sequence[StoredScreen]:
        chosen: list[StoredScreen] = []
        for screen in sorted(self._of(org_id), key=lambda each: (each.used_on, -each.size_bytes))[:limit]:
            if excess > sum(other.counted_bytes for other in chosen):
                chosen.append(screen)
        return chosen

    async def delete(self, screens: Sequence[StoredScreen]) -> int:
        unused = [screen for screen in screens if self.kept.get(screen.key) == screen]
        for screen in unused:
            del self.kept[screen.key], self.contents[screen.object_key]
        return len(unused)

    def _of(self, org_id: str) -> list[StoredScreen]:
        return [screen for key, screen in self.kept.items() if key.org_id == org_id]

    async def _count_call(self) -> None:
        self.calls += 1
        if self.slow:
            await asyncio.Event().wait()
        if self.down is not None:
            raise self.down
