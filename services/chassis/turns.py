"""Long loops that let other work of the event loop have its turn."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

TURN_SECONDS = 0.002


async def in_turns(items: Iterable[T], seconds: float = TURN_SECONDS) -> AsyncIterator[T]:
    """The items; others have a turn whenever making and using them has taken so long."""
    until = monotonic() + seconds
    for item in items:
        yield item
        if monotonic() >= until:
            await asyncio.sleep(0)
            until = monotonic() + seconds
