"""Tracks the driver sessions of held runs: records them before use, and deletes those that lost workers left."""

import asyncio
from collections.abc import Awaitable, Callable

from mobiletest_automation.devices.port import DeviceFailure, OnSession
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from services.chassis import logs
from services.chassis.retry import log_transient, retry_transient
from services.executor import telemetry
from services.executor.model.lifecycle import Fenced
from services.executor.ports.runs import Claim, RunKey, Runs

# The limit for cleaning the device of one orphaned session and deleting it.
DELETE_SECONDS = 20.0
ATTEMPTS = 4

# Ends a session at its hub; returns whether it is certainly gone.
DeleteSession = Callable[[Session], Awaitable[bool]]

log = logs.get(__name__)


class SessionTracker:
    """Records sessions in the leases of runs."""

    def __init__(self, runs: Runs, delete: DeleteSession) -> None:
        self._runs = runs
        self._delete_session = delete

    def recorder(self, claim: Claim) -> OnSession:
        """Records a session in the lease of the claimed run.

        Raises:
            DeviceFailure: that is impossible (executor_lost).
        """

        async def record(session: Session) -> None:
            def write() -> Awaitable[None]:
                return self._runs.note_session(claim.key, claim.run.fencing_token, session)

            try:
                await retry_transient(write, log=log, event="session_not_noted", attempts=ATTEMPTS)
            except Fenced as error:
                raise _not_recorded("the run belongs to another worker") from error
            except Exception as error:
                raise _not_recorded(repr(error)) from error

        return record

    async def delete_orphans(self, claim: Claim) -> None:
        """Delete the sessions that earlier workers of the run left; the orphan sweeper retries what fails."""
        await asyncio.gather(*(self.delete(claim.key, orphan.session) for orphan in claim.run.orphans))

    async def delete(self, key: RunKey, session: Session) -> bool:
        """Delete an orphaned session of the run and forget it; returns whether that is done. Hub errors never raise."""
        if not await self._is_gone(session):
            return False
        with log_transient(log, "orphan_not_forgotten", run_id=key.run_id):
            await self._runs.forget_orphan(key, session)
            telemetry.orphans_deleted.labels("deleted").inc()
            log.info("orphan_deleted", run_id=key.run_id, hub=session.hub, session=session.id)
            return True
        return False

    async def _is_gone(self, session: Session) -> bool:
        try:
            async with asyncio.timeout(DELETE_SECONDS):
                return await self._delete_session(session)
        except Exception as error:
            log.warning("orphan_not_deleted", hub=session.hub, session=session.id, error=repr(error))
            return False


def _not_recorded(why: str) -> DeviceFailure:
    return DeviceFailure(Category.EXECUTOR_LOST, f"The session could not be recorded in the run's lease: {why}.")
