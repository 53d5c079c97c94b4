"""Claims runs as soon as they are released, without waiting for their requests.

Tansu answers a fetch early or late, by its wait, so requests through it are late or cost an idle worker much CPU.
"""

import asyncio
from collections.abc import Callable, Mapping

from mobiletest_automation.model.devices import Platform
from services.chassis import logs
from services.chassis.retry import log_transient
from services.executor.ports.runs import ReleasedRun, ReleasedRuns
from services.executor.worker.claim_loop import RunRequestHandler

PAUSE_SECONDS = 0.5
"""Between checks whether a worker that has fallen behind has caught up, and after a failure."""

GATHER_SECONDS = 0.003
"""The runs of a start are released together and arrive one by one. More than there are slots are claimed in the fair
order, so they are looked at together."""

IsOwn = Callable[[ReleasedRun], bool]
"""Whether the request of the run will come to this worker: so a release does not wake all workers."""

log = logs.get(__name__)


class ReleaseWatcher:
    """Passes released runs to the handlers of requests while the worker keeps up with the queue."""

    def __init__(self, released: ReleasedRuns, handlers: Mapping[Platform, RunRequestHandler], is_own: IsOwn) -> None:
        self._released = released
        self._handlers = handlers
        self._is_own = is_own
        self._waiting: asyncio.Queue[ReleasedRun] = asyncio.Queue()

    async def run(self) -> None:
        """Watch until cancelled; while that is impossible, requests and searches find the runs."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            group.create_task(self._claim())

    async def _watch(self) -> None:
        """A worker that is behind searches whenever a slot is free, so it needs no notices."""
        while True:
            if not self._is_behind():
                with log_transient(log, "release_stream_failed"):
                    await self._watch_while_current()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _watch_while_current(self) -> None:
        async with self._released.watch() as runs:
            async for run in runs:
                if self._is_own(run):
                    self._waiting.put_nowait(run)
                if self._is_behind():
                    return

    def _is_behind(self) -> bool:
        return all(handler.is_behind for handler in self._handlers.values())

    async def _claim(self) -> None:
        while True:
            released = [await self._waiting.get()]
            await asyncio.sleep(GATHER_SECONDS)
            while not self._waiting.empty():
                released.append(self._waiting.get_nowait())
            for platform, handler in self._handlers.items():
                with log_transient(log, "released_runs_not_claimed"):
                    await handler.claim_released([run for run in released if run.platform is platform])
