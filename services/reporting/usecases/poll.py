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
    """The first result of `read` that is enough, or the last one when the time is up.

    The timeout cancels a read once, which PyMongo's asynchronous driver may ignore, so each round looks at the clock.
    """
    clock = asyncio.get_running_loop().time
    found = await read()
    until = clock() + seconds
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            while not is_enough(found) and clock() < until:
                await asyncio.sleep(POLL_SECONDS)
                found = await read()
    return found
