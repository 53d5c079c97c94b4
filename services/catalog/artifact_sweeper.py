"""Deletes artifacts that no build uses, a day after they were last touched."""

import asyncio
from datetime import timedelta

from services.catalog.model.builds import artifact_key
from services.catalog.storage.artifacts import MongoUnusedArtifacts
from services.chassis import logs
from services.chassis.clock import Clock
from services.chassis.object_store import ObjectStore
from services.chassis.retry import run_every

KEPT_UNUSED = timedelta(days=1)
"""Long enough for every upload under way, and for every run that was planned on a build deleted since."""
EVERY_SECONDS = 600.0
REMOVAL_SECONDS = 30.0

log = logs.get(__name__)


class ArtifactSweeper:
    """Runs in every process: an artifact claimed by one is skipped by the others."""

    def __init__(self, unused: MongoUnusedArtifacts, objects: ObjectStore, clock: Clock) -> None:
        self._unused = unused
        self._objects = objects
        self._clock = clock

    async def run(self) -> None:
        """Sweep until cancelled; failures are retried in the next sweep."""
        await run_every(EVERY_SECONDS, self.sweep, log=log, event="artifact_sweep_failed", transient=lambda _: True)

    async def sweep(self) -> int:
        """Delete all unused artifacts that are due; returns their number."""
        removed, before = 0, self._clock.now() - KEPT_UNUSED
        while claimed := await self._unused.claim(before):
            async with asyncio.timeout(REMOVAL_SECONDS):
                await self._objects.delete(artifact_key(*claimed))
            await self._unused.forget(*claimed)
            log.info("artifact_removed", org_id=claimed[0], sha256=claimed[1])
            removed += 1
        return removed
