"""Waiting, not for long, for what a caller knows to be coming."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

POLL_SECONDS = 0.02
REVISION_WAIT_SECONDS = 2.0
"""For an event of the catalog that a caller knows of."""
T = TypeVar("T")


async def poll_until(enough: Callable[[T], bool], look: Callable[[], Awaitable[T]], seconds: float) -> T:
    """What `look` gives as soon as it is enough, or what it gave last when the time is up."""
    found = await look()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not enough(found):
                await asyncio.sleep(POLL_SECONDS)
                found = await look()
    return found
