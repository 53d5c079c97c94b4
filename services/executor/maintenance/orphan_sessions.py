"""Deletes the sessions that lost workers have left at their hubs, so that the devices are free again."""

import asyncio
from contextlib import suppress
from time import monotonic

from services.chassis import logs
from services.chassis.retry import backoff_seconds, is_transient
from services.executor import telemetry
from services.executor.ports.runs import OrphanedSession, Runs
from services.executor.worker.session_tracker import SessionTracker

BATCH = 200
GIVE_UP_SECONDS = 900.0
"""By then a hub has ended a session that nobody talks to."""

log = logs.get(__name__)


class OrphanSweeper:
    """Works beside the reaper, which wakes it: a hub that does not answer must not hold up the reaping.

    A worker looks by itself too: the process that reaps may be one that hubs cannot be reached from.
    """

    def __init__(
        self, runs: Runs, sessions: SessionTracker, *, every: float | None = None, give_up: float = GIVE_UP_SECONDS
    ) -> None:
        """`every` is after how many seconds to look unwoken; `give_up` when a session is not cared for any more."""
        self._runs = runs
        self._sessions = sessions
        self._every = every
        self._give_up = give_up
        self._wanted = asyncio.Event()
        self._misses: dict[str, int] = {}
        self._rests: dict[str, float] = {}

    def wake(self) -> None:
        """Look once, soon."""
        self._wanted.set()

    async def run(self) -> None:
        """Look whenever woken, and by itself, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every):
                    await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.sweep()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("orphans_not_read", error=repr(error))

    async def sweep(self) -> int:
        """Delete what is left at hubs that do not rest; how many sessions were looked at."""
        found = [
            left for left in await self._runs.orphans(BATCH) if self._rests.get(left.session.hub, 0) <= monotonic()
        ]
        gone = await asyncio.gather(*(self._care(left) for left in found))
        refused = {left.session.hub for left, done in zip(found, gone, strict=True) if not done}
        for hub in {left.session.hub for left in found}:
            self._remember(hub, refused=hub in refused)
        return len(found)

    def _remember(self, hub: str, *, refused: bool) -> None:
        """A hub that did not do it is asked again later, then later still."""
        if not refused:
            self._misses.pop(hub, None)
            self._rests.pop(hub, None)
            return
        self._misses[hub] = self._misses.get(hub, 0) + 1
        self._rests[hub] = monotonic() + backoff_seconds(self._misses[hub] + 3)

    async def _care(self, left: OrphanedSession) -> bool:
        if await self._sessions.delete(left.key, left.session):
            return True
        if left.seconds < self._give_up:
            return False
        log.warning("orphan_given_up", run_id=left.key.run_id, hub=left.session.hub, session=left.session.id)
        telemetry.orphans_deleted.labels("given_up").inc()
        await self._runs.forget_orphan(left.key, left.session)
        return True
