"""Long loops that let other work of the event loop have its turn.

Those of one organisation go on one after the other, so that others wait for one of them, however many there are.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from time import monotonic
from typing import Any, TypeVar

from services.chassis.context import current_or_none

T = TypeVar("T")

TURN_SECONDS = 0.002
SORTED_AT_ONCE = 2000

_Loops = tuple[asyncio.AbstractEventLoop, str]
_paused: dict[_Loops, deque[asyncio.Future[None]]] = {}
"""The loops that wait to go on, by event loop and organisation (empty outside of requests)."""


async def in_turns(items: Iterable[T], seconds: float = TURN_SECONDS) -> AsyncIterator[T]:
    """The items; others have a turn whenever making and using them has taken so long."""
    until = monotonic() + seconds
    for item in items:
        yield item
        if monotonic() >= until:
            await pause()
            until = monotonic() + seconds


async def list_in_turns(items: Iterable[T], seconds: float = TURN_SECONDS) -> list[T]:
    """The items, where making them is what takes long; for a fraction of what `in_turns` costs."""
    found: list[T] = []
    until = monotonic() + seconds
    for item in items:
        found.append(item)
        if monotonic() >= until:
            await pause()
            until = monotonic() + seconds
    return found


async def sorted_in_turns(items: Iterable[T], key: Callable[[T], Any], at_once: int = SORTED_AT_ONCE) -> list[T]:
    """The items sorted by `key`, so many of them without a pause."""
    left, parts = list(items), list[list[T]]()
    for start in range(0, len(left), at_once):
        if start:
            await pause()
        parts.append(sorted(left[start : start + at_once], key=key))
    return parts[0] if len(parts) == 1 else await list_in_turns(heapq.merge(*parts, key=key))


async def pause() -> None:
    """Let others have a turn, among them the loops of the same organisation that have waited for longer."""
    caller, loop = current_or_none(), asyncio.get_running_loop()
    loops = (loop, caller.org_id if caller else "")
    turn = loop.create_future()
    if loops not in _paused:
        _paused[loops] = deque()
        loop.call_soon(_go_on, loops)
    _paused[loops].append(turn)
    await turn


def _go_on(loops: _Loops) -> None:
    """Let the next of these loops go on, and the one after it in the next round of the event loop."""
    waiting = _paused[loops]
    while waiting:
        turn = waiting.popleft()
        if not turn.done():  # else it was cancelled
            turn.set_result(None)
            loops[0].call_soon(_go_on, loops)
            return
    del _paused[loops]
