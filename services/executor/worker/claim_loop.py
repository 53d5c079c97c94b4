"""Finds runs to claim: at once through requests from Kafka, and from MongoDB whenever a slot is free."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import monotonic

from google.protobuf.message import DecodeError
from mobiletest.executor.v1 import events_pb2

from mobiletest_automation.model.devices import Platform
from services.chassis import logs
from services.chassis.events import Event, InvalidMessage, parse_each
from services.chassis.retry import log_transient
from services.executor.ports.runs import ReleasedRun, RunKey, Runs
from services.executor.worker.worker import Worker

MAX_MISSES = 3
MAX_REQUESTS = 1000
MAX_NOTICED = 10_000
SAME_RELEASE_SECONDS = 5.0
"""Notices of a run within this time are of the same release."""

log = logs.get(__name__)


class RunRequestHandler:
    """Handles the run requests of one platform.

    Requests arrive in the order of the starts, which is not fair between organisations. So while more runs wait than
    this worker can take, requests only wake the claim loop, which claims in the fair order.
    """

    def __init__(self, runs: Runs, worker: Worker, loop: "ClaimLoop", platform: Platform) -> None:
        self._runs = runs
        self._worker = worker
        self._loop = loop
        self._platform = platform
        self._noticed: dict[RunKey, float] = {}

    @property
    def is_behind(self) -> bool:
        """Whether requests only wake the claim loop."""
        return self._loop.is_behind(self._platform)

    def capacity(self) -> int:
        """How many requests may be fetched: any number while they only wake the claim loop."""
        free = self._worker.free_slots(self._platform)
        return MAX_REQUESTS if free and self.is_behind else free

    async def handle(self, events: list[Event]) -> list[InvalidMessage]:
        """Claim the requested runs; returns the requests that cannot be parsed.

        Runs that there is no slot for are found in MongoDB later; runs of others are left to their workers.
        """
        requests, invalid = parse_each(filter(_is_request, events), _read_request)
        accepted = [request for request in requests if self._worker.accepts(self._platform, request.org_id)]
        await self._claim_first_notices([RunKey(request.execution_id, request.run_id) for request in accepted])
        return invalid

    async def claim_released(self, runs: Sequence[ReleasedRun]) -> None:
        """Claim runs whose requests are under way."""
        accepted = [run.key for run in runs if self._worker.accepts(self._platform, run.org_id)]
        await self._claim_first_notices(accepted)

    async def _claim_first_notices(self, keys: Sequence[RunKey]) -> None:
        """Each release is noticed twice, by its request and in the stream: the second notice is dropped."""
        now = monotonic()
        first = [key for key in keys if now - self._noticed.pop(key, float("-inf")) > SAME_RELEASE_SECONDS]
        if not first:
            return
        self._noticed.update(dict.fromkeys(first, now))
        while len(self._noticed) > MAX_NOTICED:
            del self._noticed[next(iter(self._noticed))]
        try:
            await self._claim(first)
        except BaseException:
            for key in first:  # the consumer delivers its requests again
                self._noticed.pop(key, None)
            raise

    async def _claim(self, keys: Sequence[RunKey]) -> None:
        """After a time with full slots most requests are outdated, so one query filters them first."""
        if self._loop.is_behind(self._platform) or len(keys) > self.capacity():
            self._loop.wake()
            return
        if len(keys) > 1:
            keys = await self._runs.still_claimable(keys)
        await self._worker.claim(keys, self._platform)
        if not self.capacity():
            self._loop.fall_behind(self._platform)


class ClaimLoop:
    """Claims waiting runs in the fair order: every `every` seconds, and at once when a slot becomes free."""

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

    def is_behind(self, platform: Platform) -> bool:
        """Whether more runs may wait than this worker can take: its slots were full since it last found none."""
        return platform not in self._caught_up

    def fall_behind(self, platform: Platform) -> None:
        """Note that the slots of the platform are full."""
        self._caught_up.discard(platform)

    async def run(self) -> None:
        """Search until stopped; database outages are waited out.

        Two searches alternate, so that a slot that becomes free during a claim does not wait for the claim's end.
        """
        await asyncio.gather(self._search_on(self._every), self._search_on(None))

    async def _search_on(self, every: float | None) -> None:
        """Search when woken. Every `every` seconds, an idle worker first asks with one query whether any run waits."""
        woken = True
        while not self._stopping:
            with log_transient(log, "search_failed"):
                if woken or self._is_behind_anywhere() or await self._runs.is_any_waiting():
                    await self.fill()
            woken = await self._wait(every)

    def _is_behind_anywhere(self) -> bool:
        return any(self.is_behind(platform) for platform in self._worker.platforms)

    async def fill(self) -> None:
        """Claim until the slots are full, no runs wait, or other workers were faster several times."""
        for platform in self._worker.platforms:
            misses = 0
            while (free := self._worker.free_slots(platform)) and misses < MAX_MISSES:
                accepts = partial(self._worker.accepts, platform)
                found = await self._runs.claimable(platform, free + len(self._claiming), accepts)
                new = [key for key in found if key not in self._claiming][: self._worker.free_slots(platform)]
                if not new:
                    if not found and not self._claiming:
                        self._caught_up.add(platform)
                    break
                if len(new) >= self._worker.free_slots(platform):
                    self.fall_behind(platform)
                misses = 0 if await self._claim(new, platform) else misses + 1

    async def _claim(self, keys: Sequence[RunKey], platform: Platform) -> int:
        self._claiming.update(keys)
        try:
            return await self._worker.claim(keys, platform)
        finally:
            self._claiming.difference_update(keys)

    async def _wait(self, every: float | None) -> bool:
        """Wait for a wake-up or for `every` seconds; whether it was a wake-up. One of the two searches gets a wake-up,
        both get a stop.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                while not self._woken.is_set():
                    await self._woken.wait()
        woken = self._woken.is_set()
        if not self._stopping:
            self._woken.clear()
        return woken


def _is_request(event: Event) -> bool:
    return event.type == events_pb2.RunRequested.DESCRIPTOR.full_name


def _read_request(event: Event) -> events_pb2.RunRequested:
    try:
        return events_pb2.RunRequested.FromString(event.payload)
    except DecodeError as error:
        raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
