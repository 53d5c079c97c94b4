"""The sessions of runs that this worker holds: noted before they are used, and those left behind deleted first."""

import asyncio
from collections.abc import Awaitable, Callable

from services.chassis import logs
from services.chassis.retry import backoff_seconds, is_transient
from services.executor import telemetry
from services.executor.automation.devices.port import DeviceFailure, OnSession, Session
from services.executor.model.failures import Category
from services.executor.model.lifecycle import Fenced
from services.executor.ports.runs import Claim, RunKey, Runs

DELETE_SECONDS = 5.0
TRIES = 4

Delete = Callable[[Session], Awaitable[bool]]
"""End a session at its hub; whether it is certainly gone."""

log = logs.get(__name__)


class SessionTracker:
    """Sessions in leases."""

    def __init__(self, runs: Runs, delete: Delete, *, seconds: float = DELETE_SECONDS) -> None:
        """`seconds` bounds the deletion of what was left behind."""
        self._runs = runs
        self._delete = delete
        self._seconds = seconds

    def noting(self, claim: Claim) -> OnSession:
        """Writes a session into the lease of the claim; DeviceFailure (executor_lost) where it cannot be written."""

        async def note(session: Session) -> None:
            for attempt in range(1, TRIES + 1):
                try:
                    return await self._runs.note_session(claim.key, claim.run.fencing_token, session)
                except Fenced as error:
                    raise _not_noted("the run is another worker's") from error
                except Exception as error:
                    if not is_transient(error) or attempt == TRIES:
                        raise _not_noted(repr(error)) from error
                await asyncio.sleep(backoff_seconds(attempt))
            return None

        return note

    async def clear(self, claim: Claim) -> None:
        """Delete what earlier owners of the run have left behind; what cannot be deleted is the reaper's."""
        await asyncio.gather(*(self.delete(claim.key, orphan.session) for orphan in claim.run.orphans))

    async def delete(self, key: RunKey, session: Session) -> bool:
        """Delete one of the run's orphans and forget it; whether that was done. Never raises for what hubs do."""
        if not await self._gone(session):
            return False
        try:
            await self._runs.forget_orphan(key, session)
        except Exception as error:
            if not is_transient(error):
                raise
            return False
        telemetry.orphans_deleted.labels("deleted").inc()
        log.info("orphan_deleted", run_id=key.run_id, hub=session.hub, session=session.id)
        return True

    async def _gone(self, session: Session) -> bool:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._delete(session)
        except Exception as error:
            log.warning("orphan_not_deleted", hub=session.hub, session=session.id, error=repr(error))
            return False


def _not_noted(why: str) -> DeviceFailure:
    return DeviceFailure(Category.EXECUTOR_LOST, f"The session could not be put into the run's lease: {why}.")
