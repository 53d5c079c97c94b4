"""Leases of device slots in memory."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass
class SlotStore:
    """What the leases of all workers share: (pool, slot) -> the worker."""

    leased: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def expire(self, worker: str) -> None:
        """The leases of a worker end, as if it had not renewed them."""
        for workers in self.leased.values():
            workers[:] = [each for each in workers if each != worker]

    def workers(self, pool: str) -> list[str]:
        return [worker for (name, _), workers in self.leased.items() if name == pool for worker in workers]


class FakeSlotLeases:
    """The port `SlotLeases` of one worker."""

    def __init__(self, store: SlotStore, worker: str) -> None:
        self._store = store
        self._worker = worker
        self.failure: Exception | None = None

    async def take(self, pool: str, slots: int) -> int | None:
        self._check()
        for slot in range(1, slots + 1):
            workers = self._store.leased.setdefault((pool, slot), [])
            if not workers:
                workers.append(self._worker)
                return slot
        return None

    async def keep(self, held: Mapping[str, Collection[int]]) -> None:
        self._check()
        self._store.expire(self._worker)
        for pool, slots in held.items():
            for slot in slots:
                self._store.leased.setdefault((pool, slot), []).append(self._worker)

    async def count_others(self, pools: Collection[str]) -> Mapping[str, int]:
        self._check()
        return {pool: sum(worker != self._worker for worker in self._store.workers(pool)) for pool in pools}

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure
