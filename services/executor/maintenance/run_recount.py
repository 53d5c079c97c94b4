"""Counts the runs of all organisations again when an upgrade has ended: older processes do not count theirs."""

from services.chassis import logs
from services.chassis.leases import Lease
from services.chassis.retry import run_every
from services.executor.ports.runs import CountedRuns

EVERY_SECONDS = 600.0

log = logs.get(__name__)


class RunRecount:
    """Runs in every process that serves the API; a lease lets one act at a time, and a second one would do no harm."""

    def __init__(self, counts: CountedRuns, lease: Lease) -> None:
        self._counts = counts
        self._lease = lease

    async def run(self) -> None:
        """Look whether it is time until cancelled."""
        await run_every(EVERY_SECONDS, self._recount_as_leader, log=log, event="run_recount_failed")

    async def _recount_as_leader(self) -> None:
        if await self._lease.acquire():
            corrected = await self._counts.recount_if_due()
            if corrected is not None:
                log.info("runs_recounted", corrected=corrected)
            await self._lease.release()
