"""Counts of what organisations have, kept for a short time and raised by what this process adds."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from services.chassis.clock import Clock

MAX_ORGANISATIONS = 10_000

Numbers = Mapping[str, int]


@dataclass(slots=True)
class _Counted:
    """Numbers as counted at the time `at`, raised by what this process has added since or is `adding` right now.

    `during` is what it has added since the count began that is under way.
    """

    at: float = float("-inf")
    numbers: dict[str, int] = field(default_factory=dict)
    adding: dict[str, int] = field(default_factory=dict)
    during: dict[str, int] = field(default_factory=dict)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class OrgCounts:
    """Numbers by name. They may lack what other processes have added within the last `fresh_seconds`."""

    def __init__(self, count: Callable[[str], Awaitable[Numbers]], fresh_seconds: float, clock: Clock) -> None:
        """`count(org_id)`: the numbers as they are stored."""
        self._count = count
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._counted: OrderedDict[str, _Counted] = OrderedDict()

    async def get(self, org_id: str, max_age: float | None = None) -> Numbers:
        """The numbers, counted within the last `max_age` seconds (default: `fresh_seconds`), as they are until the next
        `await`. Those who ask at the same time share a count.
        """
        age = self._fresh_seconds if max_age is None else max_age
        counted = self._of(org_id)
        if self._clock.monotonic() - counted.at >= age:
            async with counted.lock:
                now = self._clock.monotonic()
                if now - counted.at >= age:
                    counted.during = {}
                    numbers = dict(await self._count(org_id))
                    _add(numbers, counted.adding)
                    _add(numbers, counted.during)
                    counted.numbers, counted.at = numbers, now
        return counted.numbers

    def add(self, org_id: str, numbers: Numbers) -> None:
        """Raise the counts by what has been added."""
        counted = self._of(org_id)
        _add(counted.numbers, numbers)
        _add(counted.during, numbers)

    @contextmanager
    def adding(self, org_id: str, numbers: Numbers) -> Iterator[None]:
        """Raise the counts by what is added inside the block, unless it fails."""
        counted = self._of(org_id)
        _add(counted.numbers, numbers)
        _add(counted.adding, numbers)
        try:
            yield
            _add(counted.during, numbers)
        except BaseException:
            _add(counted.numbers, numbers, -1)
            raise
        finally:
            _add(counted.adding, numbers, -1)

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


def _add(numbers: dict[str, int], more: Numbers, times: int = 1) -> None:
    for name, number in more.items():
        numbers[name] = numbers.get(name, 0) + times * number
