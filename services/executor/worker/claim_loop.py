"""Finds runs to claim: as they are released, and in the fair order when a slot becomes free and by the clock."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from google.protobuf.message import DecodeError
from mobiletest.executor.v1 import events_pb2

from mobiletest_automation.model.devices import Platform
from services.chassis import logs
from services.chassis.events import Event, InvalidMessage, parse_each
from services.chassis.retry import log_transient
from services.executor.ports.runs import ReleasedRun, ReleasedRuns, RunKey, Runs
from services.executor.worker.worker import Worker

MAX_MISSES = 3
MAX_REQUESTS = 1000
# Between checks whether a worker that has fallen behind has caught up, and after a failure of the stream.
PAUSE_SECONDS = 0.5
# The runs of a start are released together and arrive one by one. More than there are slots are claimed in the fair
# order, so they are looked at together.
GATHER_SECONDS = 0.003

# Whether the request of the run will come to this worker: so a release does not wake all workers.
IsOwn = Callable[[ReleasedRun], bool]

log = logs.get(__name__)


class ClaimLoop:
    """Claims waiting runs in the fair order: every `every` seconds, and at once when it is woken.

    Runs are released in the order of the starts, which is not fair between organisations. So only a worker that has
    caught up with its queue claims runs because they were released.
    """

    def __init__(self, runs: Runs, worker: Worker, *, every: float = 1.0) -> None:
        self._runs = runs
        self._worker = worker
        self._every = every
        self._woken = asyncio.Event()
        self._caught_up: set[Platform] = set()
        self._claiming: set[RunKey] = set()
        self._stopping = False
        worker.on_free_slot(self.wake)

    def wake(self) -> None:
        """Search at once, or once more if a search is in progress."""
        self._woken.set()

    def stop(self) -> None:
        """End after the claims in progress, which may already have been granted."""
        self._stopping = True
        self.wake()

    @property
    def has_caught_up(self) -> bool:
        """Whether it found no more runs of a platform since its slots were full. Until then it searches whenever a slot
        is free.
        """
        return bool(self._caught_up)

    async def run(self) -> None:
        """Search until stopped; database outages are waited out.

        Two searches alternate, so that a slot that becomes free during a claim does not wait for the claim's end.
        """
        await asyncio.gather(self._search_on(self._every), self._search_on(None))

    async def _search_on(self, every: float | None) -> None:
        """Search when woken and every `every` seconds. A worker that has caught up first asks whether any run waits:
        one query for all platforms.
        """
        while not self._stopping:
            with log_transient(log, "search_failed"):
                if self._is_behind() or await self._runs.is_any_waiting():
                    await self.fill()
            await self._wait(every)

    def _is_behind(self) -> bool:
        return not self._caught_up.issuperset(self._worker.platforms)

    async def fill(self) -> None:
        """Claim until the slots are full, no runs wait, or other workers were faster several times."""
        for platform in self._worker.platforms:
            misses = 0
            while (free := self._worker.free_slots(platform)) and misses < MAX_MISSES:
                accepts = partial(self._worker.accepts, platform)
                # Runs that the other search is claiming are still at the head of the queue, and hide as many behind
                # them.
                run_keys = await self._runs.claimable(platform, free + len(self._claiming), accepts)
                new = [key for key in run_keys if key not in self._claiming][: self._worker.free_slots(platform)]
                if not new:
                    if not run_keys and not self._claiming:
                        self._caught_up.add(platform)
                    break
                if len(new) >= self._worker.free_slots(platform):
                    self._caught_up.discard(platform)
                misses = 0 if await self._claim(new, platform) else misses + 1

    async def claim_released(self, runs: Sequence[ReleasedRun], platform: Platform) -> None:
        """Claim runs of the platform that have just been released, or search if there are more than free slots."""
        keys = [run.key for run in runs if run.platform is platform and self._worker.accepts(platform, run.org_id)]
        new = [key for key in keys if key not in self._claiming]
        if platform not in self._caught_up or len(new) > self._worker.free_slots(platform):
            self.wake()
        elif new:
            await self._claim(new, platform)
            if not self._worker.free_slots(platform):
                self._caught_up.discard(platform)

    async def _claim(self, keys: Sequence[RunKey], platform: Platform) -> int:
        self._claiming.update(keys)
        try:
            return await self._worker.claim(keys, platform)
        finally:
            self._claiming.difference_update(keys)

    async def _wait(self, every: float | None) -> None:
        """Wait for a wake-up, which one of the two searches gets, for a stop, or for `every` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                while not self._woken.is_set():
                    await self._woken.wait()
        if not self._stopping:
            # While stopping it stays set, because both searches have to see it.
            self._woken.clear()


class RunRequestHandler:
    """Handles the run requests of one platform: they let the claim loop search before its time."""

    def __init__(self, worker: Worker, loop: ClaimLoop, platform: Platform) -> None:
        self._worker = worker
        self._loop = loop
        self._platform = platform

    def capacity(self) -> int:
        """How many requests may be fetched: none without free slots, so that the lag shows whether runs wait."""
        return MAX_REQUESTS if self._worker.free_slots(self._platform) else 0

    async def handle(self, events: list[Event]) -> list[InvalidMessage]:
        """Wake the claim loop; returns the requests that cannot be parsed."""
        requests, invalid = parse_each(filter(_is_request, events), _read_request)
        if requests:
            self._loop.wake()
        return invalid


class ReleaseWatcher:
    """Lets the claim loop claim runs as soon as they are released, without waiting for their requests.

    Tansu answers a fetch early or late, by its wait, so requests through it are late or cost an idle worker much CPU.
    """

    def __init__(self, released: ReleasedRuns, loop: ClaimLoop, is_own: IsOwn) -> None:
        self._released = released
        self._loop = loop
        self._is_own = is_own
        self._waiting: asyncio.Queue[ReleasedRun] = asyncio.Queue()

    async def run(self) -> None:
        """Watch until cancelled; while that is impossible, requests and searches find the runs."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            group.create_task(self._claim())

    async def _watch(self) -> None:
        while True:
            if self._loop.has_caught_up:
                with log_transient(log, "release_stream_failed"):
                    await self._watch_while_current()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _watch_while_current(self) -> None:
        async with self._released.watch() as runs:
            async for run in runs:
                if self._is_own(run):
                    self._waiting.put_nowait(run)
                if not self._loop.has_caught_up:
                    return

    async def _claim(self) -> None:
        while True:
            released = [await self._waiting.get()]
            await asyncio.sleep(GATHER_SECONDS)
            while not self._waiting.empty():
                released.append(self._waiting.get_nowait())
            for platform in {run.platform for run in released}:
                with log_transient(log, "released_runs_not_claimed"):
                    await self._loop.claim_released(released, platform)


def _is_request(event: Event) -> bool:
    return event.type == events_pb2.RunRequested.DESCRIPTOR.full_name


def _read_request(event: Event) -> events_pb2.RunRequested:
    try:
        return events_pb2.RunRequested.FromString(event.payload)
    except DecodeError as error:
        raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
