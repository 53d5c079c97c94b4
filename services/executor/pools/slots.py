"""The slots of device pools: which of them this worker uses, and which it holds for runs that it has claimed."""

import asyncio
import socket
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Protocol
from urllib.parse import urlsplit

from services.chassis import logs
from services.chassis.retry import log_transient
from services.executor.pools.config import is_loopback
from services.executor.pools.pool import Pool

log = logs.get(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class DeviceSlot:
    """One device of a pool; numbers begin at 1."""

    pool: Pool
    number: int


class SlotLeases(Protocol):
    """Leases of slots that all workers share, by the name of their pool. Storage errors are raised."""

    async def take(self, pool: str, slots: int) -> int | None:
        """Lease a free one of the pool's slots 1 to `slots`; None while all are leased."""

    async def keep(self, held: Mapping[str, Collection[int]]) -> None:
        """Renew these leases of this worker, and end its other leases of these pools."""

    async def count_others(self, pools: Collection[str]) -> Mapping[str, int]:
        """How many slots of each pool other workers lease."""


class PoolSlots:
    """A pool's slots on a hub are leased, because all workers use the same hub; simulated devices are the worker's own.

    A slot is taken before a run is claimed, so that no worker claims runs that would have to wait for a slot of others.
    """

    def __init__(self, pools: Iterable[Pool], leases: SlotLeases | None) -> None:
        """Without `leases` no slots are shared."""
        self._leases = leases
        self._shared = [pool for pool in pools if leases is not None and pool.hub is not None]
        self._leased = {pool.name: lease_name(pool) for pool in self._shared}
        self._others: Mapping[str, int] = {}
        self._taken: set[DeviceSlot] = set()
        self._spare: set[DeviceSlot] = set()
        self._runs: dict[str, int] = defaultdict(int)
        self._writing = asyncio.Lock()
        self._returned = asyncio.Event()

    def places(self, pool: Pool) -> int:
        """How many slots of the pool this worker can use: all but those of other workers."""
        return max(self.taken(pool), pool.slots - self._others.get(self._leased.get(pool.name, ""), 0))

    def taken(self, pool: Pool) -> int:
        """How many slots of the pool this worker has, for devices or for claimed runs."""
        return sum(slot.pool is pool for slot in self._taken)

    def shared_name(self, pool: Pool) -> str | None:
        """The name of the pool's devices for all workers; None if they are this worker's own."""
        return self._leased.get(pool.name)

    def free(self, pool: Pool) -> int:
        return self.places(pool) - self.taken(pool)

    async def reserve(self, pools: Collection[Pool], platform: str, runs: int) -> int:
        """Take slots of these pools of a platform for `runs` runs in all; returns for how many there are slots."""
        self._runs[platform] = runs
        while self._held(platform) < runs and (slot := await self._take_free(pools)) is not None:
            self._spare.add(slot)
        return self._held(platform)

    def settle(self, platform: str, runs: int) -> bool:
        """The worker holds this many runs of the platform: slots beyond that, which no device is in, become free.

        Returns whether there were any.
        """
        self._runs[platform] = runs
        spare = [slot for slot in self._spare if slot.pool.platform == platform]
        surplus = spare[: max(0, self._held(platform) - runs)] if spare else []
        for slot in surplus:
            self._spare.discard(slot)
            self._free(slot)
        return bool(surplus)

    async def take(self, pools: Collection[Pool]) -> DeviceSlot | None:
        """A slot for a device: a spare one, else a free one; None when there is none, or storage is unavailable."""
        slot = next((each for each in self._spare if each.pool in pools), None)
        if slot is not None:
            self._spare.discard(slot)
            return slot
        with log_transient(log, "pool_slot_not_taken"):
            return await self._take_free(pools)
        return None

    def give_back(self, slot: DeviceSlot) -> None:
        """The device is closed. While its run goes on, the slot is kept for the next attempt."""
        self._spare.add(slot)
        self.settle(slot.pool.platform, self._runs[slot.pool.platform])

    async def share(self, on_change: Callable[[], None], *, every: float, renewal: float) -> None:
        """Until cancelled: look for slots that others freed, and renew; `every` and `renewal` in seconds."""
        if not self._shared:
            return
        renewed_at = float("-inf")
        while True:
            with log_transient(log, "pool_slots_not_renewed"):
                if self._returned.is_set() or monotonic() - renewed_at >= renewal:
                    await self.renew()
                    renewed_at = monotonic()
                if await self._look_for_free():
                    on_change()
                await self._rest(every)
                continue
            await asyncio.sleep(every)

    async def renew(self) -> None:
        """Renew what is taken, and return what is not."""
        if self._leases is None or not self._shared:
            return
        async with self._writing:
            # Before the numbers are read: what is given back during the write is returned by the next turn.
            self._returned.clear()
            held = {self._leased[pool.name]: self.numbers(pool) for pool in self._shared}
            try:
                await self._leases.keep(held)
            except BaseException:
                self._returned.set()
                raise

    async def _look_for_free(self) -> bool:
        """Count the slots of other workers; whether there are free ones in a pool that had none."""
        full = [pool for pool in self._shared if self.free(pool) <= 0]
        if self._leases is not None:
            self._others = await self._leases.count_others(self._leased.values())
        return any(self.free(pool) > 0 for pool in full)

    async def _rest(self, seconds: float) -> None:
        """Until the next turn, which comes at once when slots were given back."""
        try:
            async with asyncio.timeout(seconds):
                await self._returned.wait()
        except TimeoutError:
            return

    async def _take_free(self, pools: Collection[Pool]) -> DeviceSlot | None:
        """A free slot, of the pool with the most."""
        for pool in sorted(pools, key=self.free, reverse=True):
            if self.free(pool) > 0 and (number := await self._take_number(pool)) is not None:
                slot = DeviceSlot(pool, number)
                self._taken.add(slot)
                return slot
        return None

    async def _take_number(self, pool: Pool) -> int | None:
        name = self._leased.get(pool.name)
        if self._leases is None or name is None:
            used = self.numbers(pool)
            return next(number for number in range(1, pool.slots + 1) if number not in used)
        number = None
        try:
            async with self._writing:
                # Not beside `renew`, which returns every slot that it does not know as taken.
                number = await self._leases.take(name, pool.slots)
        finally:
            if number is None:  # the pool counts as full until the next look at it
                self._others = {**self._others, name: pool.slots}
        return number

    def _held(self, platform: str) -> int:
        return sum(slot.pool.platform == platform for slot in self._taken)

    def numbers(self, pool: Pool) -> set[int]:
        """The numbers of the slots that this worker has."""
        return {slot.number for slot in self._taken if slot.pool is pool}

    def _free(self, slot: DeviceSlot) -> None:
        self._taken.discard(slot)
        if slot.pool.name in self._leased:
            self._returned.set()


def lease_name(pool: Pool) -> str:
    """A pool is the same for all workers with its name and hub; one on loopback only for those of this machine."""
    url = pool.hub.url if pool.hub is not None else ""
    host = f" of {socket.gethostname()}" if is_loopback(urlsplit(url).hostname or "") else ""
    return f"{pool.name} at {url}{host}"
