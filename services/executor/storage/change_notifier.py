"""Notifies waiting calls of changes of executions: one MongoDB change stream per process, polling while it fails."""

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
_CHANGED_IDS: list[Document] = [
    {"$match": {"operationType": {"$in": ["replace", "update"]}}},
    {"$project": {"documentKey": 1}},
]

log = logs.get(__name__)


class ChangeWaiter:
    """One call that waits for one execution to change."""

    def __init__(self, *, stopping: bool) -> None:
        self._changed = asyncio.Event()
        self._stopping = stopping

    def notify(self) -> None:
        self._changed.set()

    def stop(self) -> None:
        """End the wait with Unavailable."""
        self._stopping = True
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        if not self._stopping:
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                return
        if self._stopping:
            raise Unavailable("This server is shutting down, try again", reason="STOPPING", retry_after=0.1)
        self._changed.clear()


class ChangeNotifier:
    """The port `ChangeNotifications` on a change stream of the executions."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._waiters: dict[str, set[ChangeWaiter]] = defaultdict(set)
        self._stopping = False

    @contextmanager
    def subscribe(self, execution_id: str) -> Iterator[ChangeWaiter]:
        waiter = ChangeWaiter(stopping=self._stopping)
        self._waiters[execution_id].add(waiter)
        try:
            yield waiter
        finally:
            self._waiters[execution_id].discard(waiter)
            if not self._waiters[execution_id]:
                del self._waiters[execution_id]

    def stop(self) -> None:
        """Release all waiters with Unavailable, because the process is shutting down."""
        self._stopping = True
        for waiter in self._all():
            waiter.stop()

    async def run(self) -> None:
        """Listen until cancelled. While the stream fails, waiters notice changes when their wait times out."""
        while True:
            try:
                async with self._mongo.watch(EXECUTIONS, _CHANGED_IDS) as changes:
                    for waiter in self._all():
                        waiter.notify()
                    async for change in changes:
                        self._notify(change["documentKey"]["_id"])
            except PyMongoError as error:
                log.warning("change_stream_failed", error=repr(error))
            await asyncio.sleep(RECONNECT_SECONDS)

    def _notify(self, execution_id: str) -> None:
        for waiter in self._waiters.get(execution_id, ()):
            waiter.notify()

    def _all(self) -> list[ChangeWaiter]:
        return [waiter for waiters in self._waiters.values() for waiter in waiters]
