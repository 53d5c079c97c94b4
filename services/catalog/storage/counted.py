"""Counters that are read once for many lists."""

from services.catalog.model.counts import Counts
from services.catalog.ports.apps import Counters
from services.chassis import context
from services.chassis.clock import Clock

FRESH_SECONDS = 1.0
CAPACITY = 10_000


class RecentCounters:
    """The counters as they were within the last second; changes made in this process are seen at once.

    Reading them costs as much as the list itself, which carries them only as totals.
    """

    def __init__(self, counters: Counters, clock: Clock) -> None:
        self._counters = counters
        self._clock = clock
        self._read: dict[str, tuple[float, Counts]] = {}
        self._changes = 0

    async def get(self) -> Counts:
        org_id, now = context.current().org_id, self._clock.monotonic()
        read = self._read.get(org_id)
        if read is not None and now - read[0] < FRESH_SECONDS:
            return read[1]
        changes = self._changes
        counts = await self._counters.get()
        if changes == self._changes:  # else it may be from before the change
            self._keep(org_id, now, counts)
        return counts

    async def add(self, change: Counts) -> None:
        await self._counters.add(change)
        self.changed()

    def changed(self) -> None:
        """A transaction of the caller's organisation has been committed."""
        self._changes += 1
        self._read.pop(context.current().org_id, None)

    def _keep(self, org_id: str, now: float, counts: Counts) -> None:
        if len(self._read) >= CAPACITY:
            self._read.clear()
        self._read[org_id] = (now, counts)
