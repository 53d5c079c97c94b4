"""Deletes screens that no run has referred to for the retention period, and those that were referred to least recently
in an organisation whose screens have more bytes than its limit `screen_bytes`.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from services.chassis import logs
from services.chassis.leases import Lease
from services.chassis.limit_refusals import refusals
from services.chassis.retry import log_transient, run_every
from services.executor import telemetry
from services.executor.model.screens import StoredScreen
from services.executor.ports.organisation_limits import ConfirmedLimits
from services.executor.ports.screens import RetainedScreens

BATCH = 500
EVERY_SECONDS = 300.0

# The time of the database, which all processes share.
Now = Callable[[], Awaitable[datetime]]

log = logs.get(__name__)


class ScreenRetention:
    """Runs in every process; the lease lets one of them act at a time, and a second one would do no harm."""

    def __init__(
        self, screens: RetainedScreens, lease: Lease, limits: ConfirmedLimits, now: Now, *, days: float
    ) -> None:
        """`days` is the retention period; 0: it never ends."""
        self._screens = screens
        self._lease = lease
        self._limits = limits
        self._now = now
        self._days = timedelta(days=days)

    async def run(self) -> None:
        """Sweep until cancelled."""
        await run_every(EVERY_SECONDS, self.sweep, log=log, event="screen_retention_failed")

    async def sweep(self) -> None:
        """Delete what is too old, then what is too much, as long as this process has the lease."""
        if not await self._lease.acquire():
            return
        await self._delete_unused()
        for org_id in await self._screens.organisations():
            with log_transient(log, "screen_limit_postponed", org_id=org_id):
                await self._delete_excess(org_id)
        await self._lease.release()

    async def _delete_unused(self) -> None:
        if not self._days:
            return
        first_kept = (await self._now() - self._days).date()
        while await self._lease.acquire():
            screens = await self._screens.unused_since(first_kept, BATCH)
            await self._delete(screens)
            if len(screens) < BATCH:
                return

    async def _delete_excess(self, org_id: str) -> None:
        limit = (await self._limits.confirmed_limits(org_id)).screen_bytes
        excess = 0 if limit is None else await self._screens.used_bytes(org_id) - limit
        while excess > 0 and await self._lease.acquire():
            screens = await self._screens.least_used(org_id, excess, BATCH)
            if not screens:
                return
            deleted = await self._delete(screens)
            excess -= sum(screen.counted_bytes for screen in screens)
            refusals.labels("screen_bytes").inc(deleted)
            log.info("screen_limit_reached", org_id=org_id, limit=limit, screens=deleted)

    async def _delete(self, screens: Sequence[StoredScreen]) -> int:
        deleted = await self._screens.delete(screens)
        telemetry.screens_deleted.inc(deleted)
        return deleted
