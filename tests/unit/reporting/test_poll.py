import asyncio
from contextlib import suppress

from services.reporting.usecases.poll import poll_until


async def test_polling_ends_though_a_read_ignores_its_cancellation() -> None:
    reads = 0

    async def read() -> bool:
        nonlocal reads
        reads += 1
        if reads == 2:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return False

    assert await poll_until(bool, read, seconds=0.1) is False
