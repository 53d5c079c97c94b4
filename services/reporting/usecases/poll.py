"""Polling, for a short time, for what callers know to exist."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from services.chassis.batcher import Batcher
from services.chassis.context import current
from services.reporting.usecases.report_turns import ReportTurns

POLL_SECONDS = 0.02
# The most that one read is about; what more callers wait for is read after it.
KEYS_AT_ONCE = 100
T = TypeVar("T")


class Polls(Generic[T]):
    """Polls for things of one kind by their ids, once for all callers of an organisation that wait for them."""

    def __init__(self, read: Callable[[Collection[str]], Awaitable[Mapping[str, T]]], turns: ReportTurns) -> None:
        """`read` leaves out what is not known."""
        self._read = read
        self._turns = turns
        self._shared: Batcher[str, T | None] = Batcher(self._read_later, max_in_flight=2, max_items=KEYS_AT_ONCE)
        """Two, so that a read that hangs keeps nobody waiting."""

    async def until(self, key: str, is_enough: Callable[[T | None], bool], seconds: float) -> T | None:
        """What was read first that is enough, or last when the time is up."""
        clock = asyncio.get_running_loop().time
        found = (await self._read([key])).get(key)
        until = clock() + seconds
        with suppress(TimeoutError):
            while not is_enough(found) and (left := until - clock()) > 0:
                found = await self._shared.get(current(), key, left)
        return found

    async def _read_later(self, keys: Sequence[str]) -> Mapping[str, T | None]:
        async with self._turns.poll():
            await asyncio.sleep(POLL_SECONDS)
            return {**dict.fromkeys(keys), **await self._read(keys)}
