"""Waiting for processes of our own, which cannot tell us when they are ready."""

import asyncio
import time
from collections.abc import Awaitable, Callable

_POLL_SECONDS = 0.02


async def until(probe: Callable[[], Awaitable[bool]], *, within: float) -> bool:
    """Ask `probe` every 20 ms until it answers True; False when `within` seconds have passed before."""
    deadline = time.monotonic() + within
    while not await probe():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
