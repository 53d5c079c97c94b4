"""Changes of executions and new steps, for waiting calls, and runs that become claimable: mostly by change streams."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice

from pymongo.errors import PyMongoError

from mobiletest_automation.model.devices import Platform
from services.chassis import logs
from services.chassis.errors import Unavailable
from services.chassis.events import TransientError
from services.chassis.mongo import Document, Mongo
from services.chassis.retry import run_every
from services.executor.ports.runs import ReleasedRun, RunKey
from services.executor.storage.schema import EXECUTIONS, RUNS, STEPS

RECONNECT_SECONDS = 1.0
# How often the steps of watched executions are looked for, and how long a write of them may be under way.
LOOK_SECONDS, WRITE_SPAN = 0.25, timedelta(seconds=2)
# How many runs are named at once.
RUNS_AT_ONCE = 100
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
    """One call that waits for one execution to change, or for new steps of its runs if it wants them."""

    def __init__(self, notifier: "ChangeNotifier", *, steps: bool) -> None:
        self._notifier = notifier
        self._woken = asyncio.Event()
        self._has_changed = False
        self._runs: dict[str, None] = {}
        self.wants_steps = steps

    def wake(self) -> None:
        """The execution has changed, or the process is being stopped."""
        self._has_changed = True
        self._woken.set()

    def add_runs(self, run_ids: Collection[str]) -> None:
        """The steps of these runs have changed."""
        self._runs |= dict.fromkeys(run_ids)
        self._woken.set()

    async def wait(self, seconds: float) -> Sequence[str]:
        if not self._notifier.stopping:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
        if self._notifier.stopping:
            raise Unavailable("This server is shutting down, try again", reason="STOPPING", retry_after=0.1)
        run_ids = list(islice(self._runs, RUNS_AT_ONCE))
        for run_id in run_ids:
            del self._runs[run_id]
        self._has_changed = self._has_changed and bool(run_ids)
        if not self._runs and not self._has_changed:
            self._woken.clear()
        return run_ids


class ChangeNotifier:
    """The port `ChangeNotifications` on a change stream of the executions."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._waiters: dict[str, set[ChangeWaiter]] = defaultdict(set)
        self.stopping = False

    @contextmanager
    def subscribe(self, execution_id: str, *, steps: bool = False) -> Iterator[ChangeWaiter]:
        waiter = ChangeWaiter(self, steps=steps)
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
            waiter.wake()

    def _notify_all(self) -> None:
        for execution_id in self._waiters:
            self._notify(execution_id)

    def executions_with_steps(self) -> Collection[str]:
        """Those of which somebody wants to know new steps."""
        return [id_ for id_, waiters in self._waiters.items() if any(waiter.wants_steps for waiter in waiters)]

    def notify_steps(self, execution_id: str, run_ids: Collection[str]) -> None:
        """The steps of these runs of the execution have changed."""
        for waiter in self._waiters.get(execution_id, ()):
            if waiter.wants_steps:
                waiter.add_runs(run_ids)


class StepsNotifier:
    """Looks for new steps of the executions that are watched, by one query for all of them, while there are any."""

    def __init__(self, mongo: Mongo, notifier: ChangeNotifier) -> None:
        self._steps = mongo.collection(STEPS)
        self._notifier = notifier
        # When the steps of the runs of each execution were written.
        self._written: dict[str, dict[str, datetime]] = {}

    async def run(self) -> None:
        """Look until cancelled; database outages are waited out."""
        await run_every(LOOK_SECONDS, self.look, log=log, event="steps_not_looked_for")

    async def look(self) -> None:
        """Notify those who watch of the runs whose steps were written since the last look."""
        watched = set(self._notifier.executions_with_steps())
        new = watched - self._written.keys()
        self._written = {id_: runs for id_, runs in self._written.items() if id_ in watched}
        if new:
            await self._notify({"execution_id": {"$in": list(new)}})
        if earlier := watched - new:
            newest = max((moment for id_ in earlier for moment in self._written[id_].values()), default=None)
            later = {"updated_at": {"$gte": newest - WRITE_SPAN}} if newest is not None else {}
            await self._notify({"execution_id": {"$in": list(earlier)}, **later})
        for execution_id in new:
            self._written.setdefault(execution_id, {})

    async def _notify(self, condition: Document) -> None:
        fields = {"_id": 0, "execution_id": 1, "updated_at": 1, "run_id": 1}
        documents = await self._steps.find({"live": True, **condition}, fields).to_list(None)
        changed: defaultdict[str, list[str]] = defaultdict(list)
        for document in documents:
            written = self._written.setdefault(document["execution_id"], {})
            if written.get(document["run_id"]) != document["updated_at"]:
                written[document["run_id"]] = document["updated_at"]
                changed[document["execution_id"]].append(document["run_id"])
        for execution_id, run_ids in changed.items():
            self._notifier.notify_steps(execution_id, run_ids)


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
