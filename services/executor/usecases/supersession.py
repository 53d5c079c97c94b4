"""Cancels executions that a newer one supersedes: at once, and by a periodic sweep after a crash in between."""

import asyncio
from typing import Protocol

from services.chassis import logs
from services.chassis.retry import log_transient, run_every
from services.executor.model.executions import Execution
from services.executor.ports.executions import Supersessions

SWEEP_SECONDS = 5.0
SWEEP_LIMIT = 100

log = logs.get(__name__)


class Superseding(Protocol):
    """Cancels older executions (`Executions`, `Supersessions`)."""

    async def supersede(self, execution: Execution) -> None: ...


async def cancel_superseded(executions: Superseding, execution: Execution) -> None:
    """Cancel what the execution supersedes; what cannot be cancelled now is left to the sweep."""
    with log_transient(log, "superseding_postponed", execution_id=execution.id):
        await executions.supersede(execution)


class SupersessionSweep:
    """Finishes starts, of all organisations, whose process died. Several processes may sweep at once."""

    def __init__(self, supersessions: Supersessions, *, every: float = SWEEP_SECONDS) -> None:
        self._supersessions = supersessions
        self._every = every

    async def run(self) -> None:
        """Sweep until cancelled."""
        await asyncio.sleep(self._every)
        await run_every(self._every, self.sweep, log=log, event="superseding_failed")

    async def sweep(self) -> None:
        """Finish the pending starts once."""
        for execution in await self._supersessions.pending(SWEEP_LIMIT):
            await cancel_superseded(self._supersessions, execution)
