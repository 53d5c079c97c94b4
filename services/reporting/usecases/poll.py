"""Polling, for a short time, for what a caller knows to exist."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

POLL_SECONDS = 0.02
REVISION_WAIT_SECONDS = 2.0
"""How long to wait for an event of the catalog."""
T = TypeVar("T")


async def poll_until(is_enough: Callable[[T], bool], read: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The first result of `read` that is enough, or the last one when the time is up."""
    found = await read()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not is_enough(found):
                await asyncio.sleep(POLL_SECONDS)
                found = await read()
    return found
