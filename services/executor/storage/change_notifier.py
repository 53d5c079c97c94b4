"""Follows MongoDB's change streams: changes of executions, for waiting calls, and runs that become claimable."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from pymongo.errors import PyMongoError

from mobiletest_automation.model.devices import Platform
from services.chassis import logs
from services.chassis.errors import Unavailable
from services.chassis.events import TransientError
from services.chassis.mongo import Document, Mongo
from services.executor.ports.runs import ReleasedRun, RunKey
from services.executor.storage.schema import EXECUTIONS, RUNS

RECONNECT_SECONDS = 1.0
_CHANGED_IDS: list[Document] = [
    {"$match": {"operationType": {"$in": ["replace", "update"]}}},
    {"$project": {"documentKey": 1}},
]

log = logs.get(__name__)
_RELEASED: list[Document] = [
    {"$match": {"operationType": {"$in": ["insert", "replace"]}, "fullDocument.queue": {"$gt": ""}}},
    {"$project": {f"fullDocument.{name}": 1 for name in ("_id", "execution_id", "org_id", "queue")}},
]


class ChangeWaiter:
    """One call that waits for one execution to change."""

    def __init__(self, notifier: "ChangeNotifier") -> None:
        self._notifier = notifier
        self.changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        if not self._notifier.stopping:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.changed.wait()
        if self._notifier.stopping:
            raise Unavailable("This server is shutting down, try again", reason="STOPPING", retry_after=0.1)
        self.changed.clear()


class ChangeNotifier:
    """The port `ChangeNotifications` on a change stream of the executions."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._waiters: dict[str, set[ChangeWaiter]] = defaultdict(set)
        self.stopping = False

    @contextmanager
    def subscribe(self, execution_id: str) -> Iterator[ChangeWaiter]:
        waiter = ChangeWaiter(self)
        self._waiters[execution_id].add(waiter)
        try:
            yield waiter
        finally:
            self._waiters[execution_id].discard(waiter)
            if not self._waiters[execution_id]:
                del self._waiters[execution_id]

    def stop(self) -> None:
        """Release all waiters with Unavailable, because the process is shutting down."""
        self.stopping = True
        self._notify_all()

    async def run(self) -> None:
        """Listen until cancelled. A new stream releases all waiters, for what the last one missed."""
        while True:
            try:
                async with self._mongo.watch(EXECUTIONS, _CHANGED_IDS) as changes:
                    self._notify_all()
                    async for change in changes:
                        self._notify(change["documentKey"]["_id"])
            except PyMongoError as error:
                log.warning("change_stream_failed", error=repr(error))
            await asyncio.sleep(RECONNECT_SECONDS)

    def _notify(self, execution_id: str) -> None:
        for waiter in self._waiters.get(execution_id, ()):
            waiter.changed.set()

    def _notify_all(self) -> None:
        for execution_id in self._waiters:
            self._notify(execution_id)


class MongoReleasedRuns:
    """The port `ReleasedRuns` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[ReleasedRun]]:
        try:
            async with self._mongo.watch(RUNS, _RELEASED) as changes:
                yield (_released_run(change["fullDocument"]) async for change in changes)
        except PyMongoError as error:  # whatever it is, a new stream may work
            raise TransientError(repr(error)) from error


def _released_run(document: Document) -> ReleasedRun:
    platform, _, _ = document["queue"].split("/", 2)
    return ReleasedRun(RunKey(document["execution_id"], document["_id"]), document["org_id"], Platform(platform))
