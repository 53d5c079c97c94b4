"""Keeps the apps, builds, tests with their versions, and workflows of an organisation within its limits."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Protocol

from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.model.values import Counts
from services.catalog.ports import Limits, Store, Transaction
from services.chassis.clock import Clock
from services.chassis.errors import DomainError
from services.chassis.ids import random_id
from services.chassis.limit_refusals import limit_reached

# A limit that has room for fewer than so many of what is added is exact; more are not added in the same moment.
EXACT_WITHIN = 256
RESERVATION_TIME = timedelta(minutes=10)
# What to do at each limit.
ADVICE = {
    "apps": "delete apps that you do not need",
    "tests": "delete tests that you do not need",
    "workflows": "delete workflows that you do not need",
    "builds": "delete builds that you do not need",
    "test_bytes": "delete tests that you do not need, whose steps are removed a day later",
}


class StorageCounter(Protocol):
    """Counts what a transaction adds."""

    async def add(self, change: Transaction, added: Counts) -> None:
        """Count it within the transaction.

        Raises:
            PermissionDenied: it is beyond a limit.
        """


class StorageQuota:
    """The limits of the caller's organisation, and the counts that they limit."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock

    async def add(self, change: Transaction, added: Counts) -> None:
        """Count what the transaction adds.

        Near a limit transactions are counted one after the other.

        Raises:
            PermissionDenied: it is beyond a limit.
        """
        used, limits = await change.counters.with_reserved(), await self._limits.get()
        if name := _exceeded(limits, used, added):
            raise _refusal(name, limits)
        await change.counters.add(added, alone=_exceeded(limits, used, added, times=EXACT_WITHIN) is not None)

    async def check(self, store: Store, added: Counts) -> None:
        """Ask before work that takes long whether what it adds has room.

        Raises:
            PermissionDenied: `add` would refuse it, too.
        """
        limits = await self._limits.get()
        if name := _exceeded(limits, await store.counters.get(), added):
            raise _refusal(name, limits)

    @asynccontextmanager
    async def reserve(
        self, store: Store, most: Counts, exact: Callable[[], Awaitable[Counts]]
    ) -> AsyncIterator[StorageCounter]:
        """Reserve room for what several transactions add inside the block; the counter for them refuses nothing.

        They add at most `most`. If there is no room for that, `exact` is asked for how much it really is.

        Raises:
            PermissionDenied: it is beyond a limit.
        """
        reservation = _Reservation(random_id(), self._clock)
        limits = await self._limits.get()
        if await reservation.begin(store, limits, most):
            added = await exact()
            if name := await reservation.begin(store, limits, added):
                raise _refusal(name, limits)
        try:
            yield reservation
        finally:
            await store.counters.release(reservation.id)


class _Reservation:
    """Room for what several transactions add. It outlives a process that is killed by `RESERVATION_TIME`."""

    def __init__(self, id: str, clock: Clock) -> None:
        self.id = id
        self._clock = clock

    async def begin(self, store: Store, limits: OrganisationLimits, most: Counts) -> str | None:
        """Reserve so much; the limit that has no room for it."""
        until = self._clock.now() + RESERVATION_TIME

        async def work(change: Transaction) -> str | None:
            name = _exceeded(limits, await change.counters.with_reserved(), most)
            if name is None:
                await change.counters.reserve(self.id, most, until)
            return name

        return await store.change(work)

    async def add(self, change: Transaction, added: Counts) -> None:
        """Count what the transaction adds, and take it out of the reservation."""
        await change.counters.add(added)
        await change.counters.use_reserved(self.id, added, self._clock.now() + RESERVATION_TIME)


def _exceeded(limits: OrganisationLimits, used: Counts, added: Counts, *, times: int = 1) -> str | None:
    """The limit that has no room for so many times what is added."""
    for name in ADVICE:
        limit, more = getattr(limits, name), getattr(added, name)
        if limit is not None and more > 0 and getattr(used, name) + times * more > limit:
            return name
    return None


def _refusal(name: str, limits: OrganisationLimits) -> DomainError:
    return limit_reached(name, getattr(limits, name), f"{ADVICE[name]}, or ask the operator for more")
