"""Deletes the artifacts of runs that ended longer ago than artifacts are kept. History and figures stay."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from services.chassis import logs
from services.chassis.retry import is_transient
from services.executor import telemetry
from services.executor.artifacts import run_prefix

BATCH = 50
EVERY_SECONDS = 60.0

log = logs.get(__name__)


class RetainedRuns(Protocol):
    """Runs whose artifacts are still kept."""

    async def now(self) -> datetime:
        """The clock by which runs ended."""

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        """Ids of such runs that ended before then, those first that ended first."""

    async def expire(self, run_ids: Sequence[str]) -> None:
        """Their artifacts are gone."""


class ArtifactFiles(Protocol):
    """Where artifacts lie."""

    async def delete_all(self, prefix: str) -> int: ...


class Turn(Protocol):
    """Whose turn it is."""

    async def acquire(self) -> bool: ...

    async def release(self) -> None: ...


class Retention:
    """One per process; `turn`, a lease, lets one of them act at a time, and two at once do no harm."""

    def __init__(self, kept: RetainedRuns, objects: ArtifactFiles, turn: Turn, *, days: float) -> None:
        self._kept = kept
        self._objects = objects
        self._turn = turn
        self._days = timedelta(days=days)

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            try:
                while await self._turn.acquire() and await self.sweep() == BATCH:
                    pass
                await self._turn.release()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("retention_failed", error=repr(error))
            await asyncio.sleep(EVERY_SECONDS)

    async def sweep(self) -> int:
        """Delete the artifacts of one batch of runs; how many runs that were.

        The files go first: whoever is killed in between finds the runs again, and nothing below their names.
        """
        run_ids = await self._kept.ended_before(await self._kept.now() - self._days, BATCH)
        if run_ids:
            deleted = sum([await self._objects.delete_all(run_prefix(run_id)) for run_id in run_ids])
            await self._kept.expire(run_ids)
            telemetry.artifacts_expired.inc(deleted)
            log.info("artifacts_expired", runs=len(run_ids), artifacts=deleted)
        return len(run_ids)
