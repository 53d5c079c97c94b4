"""Rings when an execution changes: one change stream for the whole process, with polling where it fails."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from pymongo.errors import PyMongoError

from services.chassis import logs
from services.chassis.errors import Unavailable
from services.chassis.mongo import Document, Mongo
from services.executor.storage.schema import EXECUTIONS

RECONNECT_SECONDS = 1.0
_ONLY_IDS: list[Document] = [
    {"$match": {"operationType": {"$in": ["replace", "update"]}}},
    {"$project": {"documentKey": 1}},
]

log = logs.get(__name__)


class ChangeWaiter:
    """One waiter for one execution."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self.stopping = False

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        if not self.stopping:
            try:
                async with asyncio.timeout(seconds):
                    await self._rung.wait()
            except TimeoutError:
                return
        if self.stopping:
            raise Unavailable("This server is stopping, ask again", reason="STOPPING", retry_after=0.1)
        self._rung.clear()


class ChangeNotifier:
    """The port `Bells` on a change stream of the executions. Bells count from the entry of their block."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._waiting: dict[str, set[ChangeWaiter]] = defaultdict(set)
        self._stopping = False

    @contextmanager
    def subscribe(self, execution_id: str) -> Iterator[ChangeWaiter]:
        bell = ChangeWaiter()
        bell.stopping = self._stopping
        self._waiting[execution_id].add(bell)
        try:
            yield bell
        finally:
            self._waiting[execution_id].discard(bell)
            if not self._waiting[execution_id]:
                del self._waiting[execution_id]

    def stop(self) -> None:
        """Let every waiter go, with Unavailable: the process ends."""
        self._stopping = True
        for bell in self._all():
            bell.stopping = True
            bell.ring()

    async def run(self) -> None:
        """Listen until cancelled. While the stream is away, waiters see changes when their own time runs out."""
        while True:
            try:
                async with self._mongo.watch(EXECUTIONS, _ONLY_IDS) as changes:
                    self._ring_all()
                    async for change in changes:
                        self._ring(change["documentKey"]["_id"])
            except PyMongoError as error:
                log.warning("change_stream_failed", error=repr(error))
            await asyncio.sleep(RECONNECT_SECONDS)

    def _ring(self, execution_id: str) -> None:
        for bell in self._waiting.get(execution_id, ()):
            bell.ring()

    def _ring_all(self) -> None:
        for bell in self._all():
            bell.ring()

    def _all(self) -> list[ChangeWaiter]:
        return [bell for bells in self._waiting.values() for bell in bells]
