"""How fast an organisation uploads: bytes beyond its rate wait, so that disks and cores stay free for others."""

import asyncio
from collections.abc import AsyncIterator

from services.chassis.clock import Clock
from services.chassis.context import current

# An organisation that has not uploaded of late may send what it may send in so many seconds at once.
BURST_SECONDS = 2.0


class UploadRate:
    """So many bytes a second for all uploads of an organisation together."""

    def __init__(self, bytes_per_second: int, clock: Clock) -> None:
        self._rate = bytes_per_second
        self._clock = clock
        # When the bytes that an organisation has sent were due at its rate; those long ago are forgotten.
        self._due: dict[str, float] = {}

    async def limit(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks of an upload of the caller, the next one not before its time."""
        org_id = current().org_id
        self._forget_idle()
        async for chunk in chunks:
            yield chunk
            await asyncio.sleep(self.delay(org_id, len(chunk)))

    def delay(self, org_id: str, size: int) -> float:
        """Count bytes that an organisation has sent; the seconds until it may send more."""
        now = self._clock.monotonic()
        due = max(self._due.get(org_id, 0.0), now - BURST_SECONDS) + size / self._rate
        self._due[org_id] = due
        return max(0.0, due - now)

    def _forget_idle(self) -> None:
        past = self._clock.monotonic() - BURST_SECONDS
        self._due = {org_id: due for org_id, due in self._due.items() if due > past}
