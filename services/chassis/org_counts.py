"""Counts of what organisations have, kept for a short time and raised by what this process adds."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from services.chassis.clock import Clock

MAX_ORGANISATIONS = 10_000

Numbers = Mapping[str, int]


@dataclass(slots=True)
class _Counted:
    """Numbers as counted at the time `at`; what this process has `added` since then, and is `adding` right now."""

    at: float = float("-inf")
    numbers: Numbers = field(default_factory=dict)
    added: Counter[str] = field(default_factory=Counter)
    adding: Counter[str] = field(default_factory=Counter)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class OrgCounts:
    """Numbers by name. They may lack what other processes have added within the last `fresh_seconds`."""

    def __init__(self, count: Callable[[str], Awaitable[Numbers]], fresh_seconds: float, clock: Clock) -> None:
        """`count(org_id)`: the numbers as they are stored."""
        self._count = count
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._counted: OrderedDict[str, _Counted] = OrderedDict()

    async def get(self, org_id: str, max_age: float | None = None) -> Counter[str]:
        """The numbers, counted within the last `max_age` seconds (default: `fresh_seconds`).

        Those who ask at the same time share a count.
        """
        counted = self._of(org_id)
        async with counted.lock:
            now = self._clock.monotonic()
            if now - counted.at >= (self._fresh_seconds if max_age is None else max_age):
                added = counted.added.copy()
                counted.numbers, counted.at = await self._count(org_id), now
                counted.added.subtract(added)
        numbers = Counter(counted.numbers)
        numbers.update(counted.added)
        numbers.update(counted.adding)
        return numbers

    def add(self, org_id: str, numbers: Numbers) -> None:
        """Raise the counts by what has been added."""
        self._of(org_id).added.update(numbers)

    @contextmanager
    def adding(self, org_id: str, numbers: Numbers) -> Iterator[None]:
        """Raise the counts by what is added inside the block, unless it fails."""
        counted = self._of(org_id)
        counted.adding.update(numbers)
        try:
            yield
            counted.added.update(numbers)
        finally:
            counted.adding.subtract(numbers)

    def forget(self, org_id: str) -> None:
        """Count again for every later call. The result of a count that is under way is not kept."""
        self._counted.pop(org_id, None)

    def _of(self, org_id: str) -> _Counted:
        counted = self._counted.get(org_id)
        if counted is None:
            if len(self._counted) >= MAX_ORGANISATIONS:
                self._counted.popitem(last=False)
            counted = self._counted[org_id] = _Counted()
        self._counted.move_to_end(org_id)
        return counted
