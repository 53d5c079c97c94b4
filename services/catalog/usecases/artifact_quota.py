"""Keeps the artifacts of an organisation within its limit, also while many uploads are under way."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.catalog.ports import ArtifactBytesLedger, Limits
from services.chassis import logs
from services.chassis.clock import Clock
from services.chassis.ids import random_id
from services.chassis.limit_refusals import limit_reached
from services.chassis.retry import log_transient

log = logs.get(__name__)

# An upload of unknown size reserves these at first, then twice as many, but at most so many more at once.
SMALLEST_BYTES = 64 * 1024
PORTION_BYTES = 64 * 1024 * 1024
RENEWAL_SECONDS = 120.0
# Artifacts that nothing uses are stored for another day; with them an organisation may have this times its limit.
STORED_FACTOR = 2
DELETE = "delete builds and imported tests that you do not need, or ask the operator for more"
WAIT = "files of deleted builds and tests are removed after a day; try again then"


class ArtifactQuota:
    """Reserves bytes before they are received. A reservation is written first and checked afterwards, so uploads that
    begin at the same time in several processes never exceed the limit; both may be refused at its edge.
    """

    def __init__(self, ledger: ArtifactBytesLedger, limits: Limits, clock: Clock) -> None:
        self._ledger = ledger
        self._limits = limits
        self._clock = clock

    @asynccontextmanager
    async def reserve(self, expected: int) -> AsyncIterator["Reservation"]:
        """A reservation for an upload of about this size (0: unknown) inside the block.

        Raises:
            PermissionDenied: the organisation stores as many bytes as it may.
        """
        reservation = Reservation(self, random_id())
        try:
            await reservation.cover(expected or SMALLEST_BYTES)
            yield reservation
        finally:
            # What the bytes were for may be done already; a reservation that is left ends by itself.
            with log_transient(log, "reservation_not_released", upload_id=reservation.id):
                await self._ledger.release(reservation.id)

    async def take(self, upload_id: str, size: int) -> float:
        """Reserve this size for the upload; when to renew it, by the monotonic clock.

        Raises:
            PermissionDenied: the organisation stores as many bytes as it may.
        """
        await self._ledger.reserve(upload_id, size)
        await self.check()
        return self._clock.monotonic() + RENEWAL_SECONDS

    async def check(self) -> None:
        """Check what is stored together with what is reserved.

        Raises:
            PermissionDenied: with what is reserved, more is stored than may be.
        """
        artifact_bytes, limit = await self._ledger.sum(), (await self._limits.get()).artifact_bytes
        if limit is not None and artifact_bytes.used > limit:
            raise limit_reached("artifact_bytes", limit, DELETE)
        if limit is not None and artifact_bytes.stored > STORED_FACTOR * limit:
            raise limit_reached("artifact_bytes", limit, WAIT)

    def is_due(self, at: float) -> bool:
        """Whether it is time to renew."""
        return self._clock.monotonic() >= at


class Reservation:
    """The bytes reserved for one upload."""

    def __init__(self, quota: ArtifactQuota, upload_id: str) -> None:
        self.id = upload_id
        self._quota = quota
        self._bytes = 0
        self._renew_at = 0.0

    async def cover(self, size: int) -> None:
        """Make sure that this many bytes are reserved, and that the reservation lasts.

        Raises:
            PermissionDenied: the organisation stores as many bytes as it may.
        """
        if size <= self._bytes and not self._quota.is_due(self._renew_at):
            return
        if size > self._bytes:
            # Doubling keeps the writes few; the portion bounds what an upload reserves without needing it.
            self._bytes = max(size, self._bytes + min(self._bytes, PORTION_BYTES))
        self._renew_at = await self._quota.take(self.id, self._bytes)
