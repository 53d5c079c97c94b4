"""Cancelling what a new execution takes the place of: at once, and by a sweep where a process died in between."""

import asyncio
from typing import Protocol

from services.chassis import logs
from services.chassis.retry import is_transient
from services.executor.model.executions import Execution
from services.executor.ports.executions import Supersessions

SWEEP_SECONDS = 5.0
SWEEP_LIMIT = 100

log = logs.get(__name__)


class Superseding(Protocol):
    """What cancels earlier executions (`Executions`, `Supersessions`)."""

    async def supersede(self, execution: Execution) -> None: ...


class Superseder:
    """Settles one start."""

    def __init__(self, executions: Superseding) -> None:
        self._executions = executions

    async def settle(self, execution: Execution) -> None:
        """Cancel what the execution takes the place of; what cannot be cancelled now is left to the sweep."""
        try:
            await self._executions.supersede(execution)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("superseding_postponed", execution_id=execution.id, error=repr(error))


class SupersessionSweep:
    """Settles, for all organisations, the starts that nobody settled. Several processes may sweep at once."""

    def __init__(self, supersessions: Supersessions, *, every: float = SWEEP_SECONDS) -> None:
        self._supersessions = supersessions
        self._superseding = Superseder(supersessions)
        self._every = every

    async def run(self) -> None:
        """Sweep until cancelled; a database that is away is asked again."""
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.once()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("superseding_failed", error=repr(error))

    async def once(self) -> None:
        for execution in await self._supersessions.pending(SWEEP_LIMIT):
            await self._superseding.settle(execution)
