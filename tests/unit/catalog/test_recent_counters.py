"""Counters that are read once for many lists."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

from services.catalog.model.values import Counts
from services.catalog.storage.apps import RecentCounters
from services.chassis import context
from services.chassis.context import Caller
from tests.fakes.chassis import FakeClock


@dataclass
class SlowCounters:
    """Counters that count how often they are read, and can be held while they are."""

    counts: Counts = field(default_factory=Counts)
    reads: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self) -> Counts:
        self.reads += 1
        counts = self.counts
        await self.gate.wait()
        return counts

    async def with_reserved(self) -> Counts:
        return await self.get()

    async def add(self, change: Counts, *, alone: bool = False) -> None:
        self.counts = change

    async def reserve(self, reservation_id: str, most: Counts, until: datetime) -> None: ...

    async def use_reserved(self, reservation_id: str, used: Counts, until: datetime) -> None: ...

    async def release(self, reservation_id: str) -> None: ...


def recent() -> tuple[RecentCounters, SlowCounters, FakeClock]:
    slow, clock = SlowCounters(), FakeClock()
    slow.gate.set()
    return RecentCounters(slow, clock), slow, clock


async def test_counters_are_read_once_a_second() -> None:
    counters, slow, clock = recent()
    for seconds, reads in ((0.0, 1), (0.75, 1), (0.25, 2)):
        clock.advance(seconds)
        await counters.get()
        assert slow.reads == reads
    with context.bind(Caller(str(uuid4()))):
        await counters.get()
    assert slow.reads == 3


async def test_ones_own_change_is_seen_at_once() -> None:
    counters, _, _ = recent()
    assert await counters.get() == Counts()
    await counters.add(Counts(ios=1))
    assert await counters.get() == Counts(ios=1)


async def test_a_read_that_a_change_overtook_is_not_kept() -> None:
    """It may be from before the change."""
    counters, slow, _ = recent()
    slow.gate.clear()
    early = asyncio.ensure_future(counters.get())
    while slow.reads == 0:
        await asyncio.wait([early], timeout=0)
    await counters.add(Counts(ios=1))
    slow.gate.set()
    assert await early == Counts()
    assert await counters.get() == Counts(ios=1)
