"""What happens to events on their way: copies, copies under other keys, disorder, and some that are very late."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from random import Random

from services.chassis.events import Event
from tests.fault.reporting.event_generator import EventGenerator

COPIES = (1,) * 85 + (2,) * 9 + (3,) * 3 + (4,) * 2 + (5,)
# How many events later one may come: mostly, sometimes, and seldom (a day's worth).
NEAR, FAR, LATE = 2_000, 20_000, 60_000


def delivered(generator: EventGenerator) -> Iterator[Event]:
    """Every generated event one to five times, in the order in which they are published; bounded in memory."""
    chance = Random(f"{generator.seed} on the way")
    waiting: list[tuple[int, int, Event]] = []
    number = -1
    for number, event in enumerate(_together(generator.events(one) for one in range(generator.organisations))):
        for copy in range(chance.choice(COPIES)):
            due = number + _delay(chance)
            heapq.heappush(waiting, (due, chance.getrandbits(60), _copy(event, copy, chance)))
        while waiting and waiting[0][0] <= number:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def _delay(chance: Random) -> int:
    return chance.randrange(chance.choices([NEAR, FAR, LATE], [90, 9, 1])[0])


def _copy(event: Event, copy: int, chance: Random) -> Event:
    """Some copies have another key, and so may lie on another partition."""
    return replace(event, key=f"{event.key}-{copy}") if copy and chance.random() < 0.5 else event


def _together(sources: Iterable[Iterator[Event]]) -> Iterator[Event]:
    for row in zip_longest(*sources):
        yield from (event for event in row if event is not None)
