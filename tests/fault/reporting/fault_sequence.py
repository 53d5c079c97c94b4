"""A sequence of faults: each one starts after the replicas made progress, and is repaired before the next."""

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from time import monotonic

from tests.eventually import eventually
from tests.fault.reporting.event_load import EventLoad
from tests.fault.reporting.replicas import SESSION_SECONDS, Replicas

WANTED = 2
PATIENCE_SECONDS = 20.0
REWIND = 1000
LEAST_PROGRESS = 1000
FAULTS = {
    "kill": 6,
    "kill_all": 1,
    "freeze": 4,
    "join": 3,
    "leave": 3,
    "kill_mongod": 2,
    "freeze_mongod": 2,
    "wind_back": 1,
}


class FaultSequence:
    """The faults in an order that follows from the seed; `struck` counts them."""

    def __init__(self, replicas: Replicas, chance: Random) -> None:
        self._replicas = replicas
        self._chance = chance
        self._order = [name for name, times in FAULTS.items() for _ in range(times)]
        chance.shuffle(self._order)
        self.struck: Counter[str] = Counter()

    async def rage(self, load: EventLoad) -> None:
        """Strike at equal distances over the load, never twice without progress between while there is any."""
        since = monotonic()
        for number, name in enumerate(self._order, start=1):
            wanted = max(load.expected * number // (len(self._order) + 1), await load.committed() + LEAST_PROGRESS)
            await _reached(load, wanted)
            await asyncio.sleep(self._chance.uniform(0, 0.5))  # anywhere in a batch, not only behind a commit
            print(f"{monotonic() - since:.0f} s: {name}")
            strike: Callable[[], Awaitable[None]] = getattr(self, f"_{name}")
            await strike()
            self.struck[name] += 1
            while len(self._replicas.running) < WANTED:
                self._replicas.start()

    def _any(self) -> str:
        return self._chance.choice(sorted(self._replicas.running))

    async def _kill(self) -> None:
        await self._replicas.kill(self._any())

    async def _kill_all(self) -> None:
        for name in list(self._replicas.running):
            await self._replicas.kill(name)

    async def _freeze(self) -> None:
        """Shorter or longer than a member may be silent."""
        name = self._any()
        self._replicas.freeze(name)
        await asyncio.sleep(self._chance.choice([0.3, 0.8, 1.5, 3]) * SESSION_SECONDS)
        self._replicas.thaw(name)

    async def _join(self) -> None:
        self._replicas.start()

    async def _leave(self) -> None:
        await self._replicas.leave(self._any())

    async def _kill_mongod(self) -> None:
        await self._replicas.mongod.child.kill()
        await asyncio.sleep(self._chance.uniform(0, 3))
        await self._replicas.mongod.start()

    async def _freeze_mongod(self) -> None:
        """It does not respond for a while, then continues."""
        self._replicas.mongod.child.send(signal.SIGSTOP)
        await asyncio.sleep(self._chance.choice([0.2, 1, 4]))
        self._replicas.mongod.child.send(signal.SIGCONT)

    async def _wind_back(self) -> None:
        await self._kill_all()
        await self._replicas.wind_back(REWIND)


async def _reached(load: EventLoad, wanted: int) -> None:
    """Wait a limited time until `wanted` records, or all published ones, are committed."""

    async def there() -> bool:
        committed = await load.committed()
        return committed >= wanted or (load.over and committed == load.published)

    with suppress(TimeoutError):
        await eventually(there, within=PATIENCE_SECONDS, every=0.2)
