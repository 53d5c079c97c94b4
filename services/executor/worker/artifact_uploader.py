"""Uploads artifacts to the object store: directly, or through a local spool while the store is unavailable."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from services.chassis import logs
from services.chassis.byte_ranges import FilePart
from services.chassis.object_store import ObjectStore
from services.chassis.retry import backoff_seconds
from services.executor import telemetry
from services.executor.artifacts import ArtifactKey, ObjectStoreArtifacts
from services.executor.worker.spool import ArtifactSpool, SpooledArtifact

IDLE_SECONDS = 30.0
# The longest pause between two tries.
MAX_PAUSE_SECONDS = 10.0
UPLOAD_SECONDS = 60.0
FLUSH_SECONDS = 2.0

log = logs.get(__name__)


class SpooledRuns(Protocol):
    """The runs whose artifacts are in the spool."""

    async def is_kept(self, run_id: str) -> bool:
        """Whether the artifacts of the run are still wanted: they have not been deleted already."""

    async def mark_missing(self, key: ArtifactKey) -> None:
        """Record that an artifact was given up."""


class ArtifactUploader:
    """The port `RunArtifacts` of a worker.

    After a failure of the store no attempt waits for it: artifacts go to the spool until the background task has
    reached the store again.
    """

    def __init__(self, store: ObjectStore, spool: ArtifactSpool, runs: SpooledRuns, *, deadline: float) -> None:
        """`deadline` is how many seconds an artifact may stay in the spool."""
        self._store = store
        self._direct = ObjectStoreArtifacts(store)
        self._spool = spool
        self._runs = runs
        self._deadline = deadline
        self._down = False
        self._added = asyncio.Event()

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        """Store the file, or keep it in the spool until the store answers.

        Raises:
            Unavailable: neither the store nor the spool accepts it.
        """
        if not self._down:
            try:
                await self._direct.put(run_id, attempt, name, content)
            except Exception as error:
                log.warning("artifact_store_is_away", error=repr(error))
                self._down = True
            else:
                return
        await self._spool.add(str(ArtifactKey(run_id, attempt, name)), content)
        self._added.set()

    def read(self, run_id: str, attempt: int, name: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        return self._direct.read(run_id, attempt, name, part)

    async def run(self) -> None:
        """Upload what is spooled until cancelled, starting with what an earlier process left."""
        failures = 0
        while True:
            self._added.clear()
            failures = 0 if await self.upload_spooled() else failures + 1
            if failures:
                await asyncio.sleep(backoff_seconds(failures, most=MAX_PAUSE_SECONDS))
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._added.wait()

    async def upload_spooled(self) -> bool:
        """Upload all spooled artifacts until the store fails; returns whether it did not."""
        try:
            for item in await self._spool.waiting():
                if item.age() > self._deadline:
                    await self._give_up(item)
                else:
                    await self._upload(item)
            self._down = False
        except Exception as error:
            log.warning("spool_not_delivered", error=repr(error))
            return False
        return True

    async def flush(self) -> None:
        """A last try on shutdown; what is left waits for the next process."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self.upload_spooled()

    async def _upload(self, item: SpooledArtifact) -> None:
        key = ArtifactKey.parse(item.key)
        if key is not None and not await self._runs.is_kept(key.run_id):
            await self._spool.remove(item)
            return
        with suppress(FileNotFoundError):
            async with asyncio.timeout(UPLOAD_SECONDS):
                await self._store.put_file(item.key, item.path)
            telemetry.artifacts_delivered.inc()
            log.info("artifact_delivered", key=item.key, waited_seconds=round(item.age(), 1))
        await self._spool.remove(item)

    async def _give_up(self, item: SpooledArtifact) -> None:
        key = ArtifactKey.parse(item.key)
        if key is not None:
            await self._runs.mark_missing(key)
        await self._spool.remove(item)
        telemetry.artifacts_missing.inc()
        log.error("artifact_given_up", key=item.key, waited_seconds=round(item.age(), 1))
