"""Deletes driver sessions that lost workers left open at their hubs, so that the devices become free."""

import asyncio
from contextlib import suppress
from time import monotonic

from services.chassis import logs
from services.chassis.retry import backoff_seconds, log_transient
from services.executor import telemetry
from services.executor.ports.runs import OrphanedSession, OrphanedSessions
from services.executor.worker.session_tracker import SessionTracker

BATCH = 200
# The age at which an orphan is dropped: by then its hub has ended an idle session by itself.
GIVE_UP_SECONDS = 900.0

log = logs.get(__name__)


class OrphanSweeper:
    """Separate from the reaper, which wakes it: a hub that does not answer must not delay the reaper.

    Workers sweep periodically too, because the reaping process may not be able to reach the hubs.
    """

    def __init__(self, orphans: OrphanedSessions, sessions: SessionTracker, *, every: float | None = None) -> None:
        """`every`: seconds between sweeps; None: only when woken."""
        self._orphans = orphans
        self._sessions = sessions
        self._every = every
        self._woken = asyncio.Event()
        self._failures: dict[str, int] = {}
        self._paused_until: dict[str, float] = {}

    def wake(self) -> None:
        """Sweep soon."""
        self._woken.set()

    async def run(self) -> None:
        """Sweep when woken, and periodically, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._woken.wait()
            self._woken.clear()
            with log_transient(log, "orphans_not_read"):
                await self.sweep()

    async def sweep(self) -> int:
        """Delete the orphans of all hubs that are not backing off; returns how many sessions were tried."""
        orphaned_sessions = [
            orphan
            for orphan in await self._orphans.orphans(BATCH)
            if self._paused_until.get(orphan.session.hub, 0) <= monotonic()
        ]
        done = await asyncio.gather(*(self._delete(orphan) for orphan in orphaned_sessions))
        failing = {orphan.session.hub for orphan, ok in zip(orphaned_sessions, done, strict=True) if not ok}
        for hub in {orphan.session.hub for orphan in orphaned_sessions}:
            self._back_off(hub, failed=hub in failing)
        return len(orphaned_sessions)

    def _back_off(self, hub: str, *, failed: bool) -> None:
        """A hub that failed is tried again later, with growing pauses."""
        if not failed:
            self._failures.pop(hub, None)
            self._paused_until.pop(hub, None)
            return
        self._failures[hub] = self._failures.get(hub, 0) + 1
        self._paused_until[hub] = monotonic() + backoff_seconds(self._failures[hub] + 3)

    async def _delete(self, orphan: OrphanedSession) -> bool:
        """Whether the orphan is settled: deleted, or given up because of its age."""
        key, session = orphan.key, orphan.session
        if await self._sessions.delete(key, session):
            return True
        if orphan.seconds < GIVE_UP_SECONDS:
            return False
        log.warning("orphan_given_up", run_id=key.run_id, hub=session.hub, session=session.id)
        telemetry.orphans_deleted.labels("given_up").inc()
        await self._orphans.forget_orphan(key, session)
        return True
