"""Long loops that let other work of the event loop have its turn.

Those of one organisation go on one after the other, so that others wait for one of them, however many there are.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar

from services.chassis.context import current_or_none

T = TypeVar("T")

TURN_SECONDS = 0.002
SORTED_AT_ONCE = 2000

# What the loops of one organisation may work at once; from then on this share of the time, so that other threads and
# processes have theirs: events are folded while large reports are made.
BURST_SECONDS, SHARE = 2.0, 0.25
MOST_KEPT = 1000

# An event loop, and an organisation (empty outside of requests).
_Key = tuple[asyncio.AbstractEventLoop, str]


class _Loops:
    """The loops of an organisation: those that wait to go on, and how long they have worked, less their share of the
    time since.
    """

    def __init__(self) -> None:
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.going = False
        self._worked = 0.0
        self._at = monotonic()

    def worked(self, seconds: float = 0.0) -> float:
        """With so many seconds more."""
        now = monotonic()
        self._worked = max(0.0, self._worked - (now - self._at) * SHARE) + seconds
        self._at = now
        return self._worked

    @property
    def rest(self) -> float:
        """Seconds until one of them may go on."""
        return max(0.0, self.worked() - BURST_SECONDS) / SHARE


_loops: dict[_Key, _Loops] = {}


async def in_turns(items: Iterable[T], seconds: float = TURN_SECONDS) -> AsyncIterator[T]:
    """The items; others have a turn whenever making and using them has taken so long."""
    began = monotonic()
    for item in items:
        yield item
        if (worked := monotonic() - began) >= seconds:
            await pause(worked)
            began = monotonic()


async def list_in_turns(items: Iterable[T], seconds: float = TURN_SECONDS) -> list[T]:
    """The items, where making them is what takes long; for a fraction of what `in_turns` costs."""
    collected: list[T] = []
    began = monotonic()
    for item in items:
        collected.append(item)
        if (worked := monotonic() - began) >= seconds:
            await pause(worked)
            began = monotonic()
    return collected


async def sorted_in_turns(items: Iterable[T], key: Callable[[T], Any], at_once: int = SORTED_AT_ONCE) -> list[T]:
    """The items sorted by `key`, so many of them without a pause."""
    left, parts = list(items), list[list[T]]()
    for start in range(0, len(left), at_once):
        if start:
            await pause()
        parts.append(sorted(left[start : start + at_once], key=key))
    return parts[0] if len(parts) == 1 else await list_in_turns(heapq.merge(*parts, key=key))


async def discard(*collections: Mapping[Any, Any] | Sequence[Any]) -> None:
    """Empty dicts and lists that nothing needs any more: freeing thousands of rows in one go takes long, too."""
    for each in collections:
        async for _ in in_turns(_popped(each)):
            pass


def _popped(collection: Mapping[Any, Any] | Sequence[Any]) -> Iterator[None]:
    pop = {dict: "popitem", list: "pop"}.get(type(collection))
    while pop and collection:
        getattr(collection, pop)()
        yield


async def pause(worked: float = 0.0) -> None:
    """Let others have a turn, among them the loops of the same organisation that have waited for longer. `worked`: for
    how many seconds this one has.
    """
    caller, loop = current_or_none(), asyncio.get_running_loop()
    key = (loop, caller.org_id if caller else "")
    loops = _loops.get(key)
    if loops is None:
        _forget_idle()
        loops = _loops[key] = _Loops()
    loops.worked(worked)
    turn = loop.create_future()
    loops.waiting.append(turn)
    if not loops.going:
        loops.going = True
        loop.call_soon(_go_on, loop, loops)
    await turn


def _go_on(loop: asyncio.AbstractEventLoop, loops: _Loops) -> None:
    """Let one of these loops go on, and the next one in another round of the event loop."""
    if rest := loops.rest:
        loop.call_later(rest, _go_on, loop, loops)
        return
    while loops.waiting:
        turn = loops.waiting.popleft()
        if not turn.done():  # else it was cancelled
            turn.set_result(None)
            loop.call_soon(_go_on, loop, loops)
            return
    loops.going = False


def _forget_idle() -> None:
    """Forget organisations that have their whole burst again, if many are known."""
    if len(_loops) >= MOST_KEPT:
        for key in [key for key, loops in _loops.items() if not loops.going and not loops.worked()]:
            del _loops[key]
