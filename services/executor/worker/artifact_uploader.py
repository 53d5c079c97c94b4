"""Artifacts on their way to an object store that may be away: straight there, or by the spool, later."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from services.chassis import logs
from services.chassis.object_store import ObjectStore
from services.chassis.retry import backoff_seconds
from services.executor import telemetry
from services.executor.artifacts import ArtifactKey, ObjectStoreArtifacts
from services.executor.worker.spool import Spool, SpooledArtifact, age

IDLE_SECONDS = 30.0
MOST_SECONDS = 10.0
"""The longest pause between two tries."""
DELIVERY_SECONDS = 60.0
AT_ONCE_BYTES = 8 * 1024 * 1024
"""What is larger is streamed, which takes clouds three calls and more."""
PARTING_SECONDS = 2.0

log = logs.get(__name__)


class MissingArtifacts(Protocol):
    """Where it is written that an artifact was given up."""

    async def mark_missing(self, key: ArtifactKey) -> None: ...


class ArtifactUploader:
    """The port `Artifacts` of a worker. Once the store has failed nobody waits for it: all goes to the spool,
    until the background task has found the store again. `deadline` is in seconds.
    """

    def __init__(self, store: ObjectStore, spool: Spool, missing: MissingArtifacts, *, deadline: float) -> None:
        self._store = store
        self._direct = ObjectStoreArtifacts(store)
        self._spool = spool
        self._missing = missing
        self._deadline = deadline
        self._down = False
        self._added = asyncio.Event()

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        """Unavailable when neither the store nor the spool takes it."""
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

    def read(self, run_id: str, attempt: int, name: str) -> AsyncIterator[bytes]:
        return self._direct.read(run_id, attempt, name)

    async def run(self) -> None:
        """Deliver what waits, that of an earlier life of this process first, until cancelled."""
        failures = 0
        while True:
            self._added.clear()
            failures = 0 if await self.deliver() else failures + 1
            if failures:
                await asyncio.sleep(backoff_seconds(failures, most=MOST_SECONDS))
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._added.wait()

    async def deliver(self) -> bool:
        """Try everything that waits, up to the first failure of the store; whether there was none."""
        try:
            for item in await self._spool.waiting():
                if age(item) > self._deadline:
                    await self._give_up(item)
                else:
                    await self._deliver(item)
            self._down = False
        except Exception as error:
            log.warning("spool_not_delivered", error=repr(error))
            return False
        return True

    async def part(self) -> None:
        """One last try before the process ends; what is left waits for the next process."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PARTING_SECONDS):
                await self.deliver()

    async def _deliver(self, item: SpooledArtifact) -> None:
        with suppress(FileNotFoundError):
            async with asyncio.timeout(DELIVERY_SECONDS):
                await self._store_whole(item)
            telemetry.artifacts_delivered.inc()
            log.info("artifact_delivered", key=item.key, waited_seconds=round(age(item), 1))
        await self._spool.remove(item)

    async def _store_whole(self, item: SpooledArtifact) -> None:
        chunks = self._spool.read(item)
        if item.size > AT_ONCE_BYTES:
            await self._store.put_stream(item.key, chunks)
        else:
            await self._store.put_bytes(item.key, b"".join([chunk async for chunk in chunks]))

    async def _give_up(self, item: SpooledArtifact) -> None:
        key = ArtifactKey.parse(item.key)
        if key is not None:
            await self._missing.mark_missing(key)
        await self._spool.remove(item)
        telemetry.artifacts_missing.inc()
        log.error("artifact_given_up", key=item.key, waited_seconds=round(age(item), 1))
