"""Finds runs to claim: by requests from Kafka at once, and from MongoDB whenever a slot is free and nothing came."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from google.protobuf.message import DecodeError
from mobiletest.executor.v1 import events_pb2

from services.chassis import logs
from services.chassis.events import Event, InvalidMessage, parse_each
from services.chassis.retry import is_transient
from services.executor.model.runs import Platform
from services.executor.ports.runs import RunKey, Runs
from services.executor.worker.worker import Worker

MOST_MISSES = 3

log = logs.get(__name__)


class RunRequestHandler:
    """Handles the run requests of one platform.

    They come in the order of the starts, so while more waits than this worker can take they only wake the search, which
    claims in a fair order: a request of an organisation that floods the queue overtakes nobody.
    """

    def __init__(self, runs: Runs, worker: Worker, search: "ClaimLoop", platform: Platform) -> None:
        self._runs = runs
        self._worker = worker
        self._search = search
        self._platform = platform

    def capacity(self) -> int:
        """How many requests may be fetched."""
        return self._worker.free(self._platform)

    async def handle(self, events: list[Event]) -> list[InvalidMessage]:
        """Claim what is asked for and still to be had; gives the requests that cannot be read.

        What finds no room is found in MongoDB later.
        """
        asked, refused = parse_each(filter(_is_request, events), _key)
        await self._take(asked)
        return refused

    async def _take(self, asked: Sequence[RunKey]) -> None:
        """After a time with full slots most requests are old news, which one query for all of them tells."""
        if self._search.is_behind(self._platform) or len(asked) > self.capacity():
            self._search.look()
            return
        if len(asked) > 1:
            asked = await self._runs.still_claimable(asked)
        await self._worker.take(asked, self._platform)
        if not self.capacity():
            self._search.fell_behind(self._platform)


class ClaimLoop:
    """Claims what waits, in a fair order: looks every `every` seconds, and at once when a slot comes free."""

    def __init__(self, runs: Runs, worker: Worker, *, every: float = 1.0) -> None:
        self._runs = runs
        self._worker = worker
        self._every = every
        self._now = asyncio.Event()
        self._found_all: set[Platform] = set()
        self._claiming: set[RunKey] = set()
        self._stopping = False
        worker.on_freed(self.look)

    def look(self) -> None:
        """Look at once, or once more when a look is under way."""
        self._now.set()

    def stop(self) -> None:
        """Come to an end after the claims that are under way, which may have been granted already."""
        self._stopping = True
        self.look()

    def is_behind(self, platform: Platform) -> bool:
        """Whether more may wait than this worker can take: it was full since it last saw that nothing did."""
        return platform not in self._found_all

    def fell_behind(self, platform: Platform) -> None:
        """There is no room left on the platform."""
        self._found_all.discard(platform)

    async def run(self) -> None:
        """Search until stopped; a database that is away is asked again.

        Two search in turns, so that a slot that comes free during a claim does not wait for its end.
        """
        await asyncio.gather(self._go_on(self._every), self._go_on(None))

    async def _go_on(self, every: float | None) -> None:
        """Search whenever it is told to, or after `every` seconds."""
        while not self._stopping:
            try:
                await self.fill()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("search_failed", error=repr(error))
            await self._called(every)

    async def fill(self) -> None:
        """Claim until there is no room, nothing to claim, or others were faster several times."""
        for platform in self._worker.platforms:
            misses = 0
            while (room := self._worker.free(platform)) and misses < MOST_MISSES:
                found = await self._runs.claimable(platform, room + len(self._claiming))
                others = [key for key in found if key not in self._claiming][: self._worker.free(platform)]
                if not others:
                    if not found and not self._claiming:
                        self._found_all.add(platform)
                    break
                if len(others) >= self._worker.free(platform):
                    self._found_all.discard(platform)
                misses = 0 if await self._take(others, platform) else misses + 1

    async def _take(self, keys: Sequence[RunKey], platform: Platform) -> int:
        self._claiming.update(keys)
        try:
            return await self._worker.take(keys, platform)
        finally:
            self._claiming.difference_update(keys)

    async def _called(self, every: float | None) -> None:
        """Return when there is to be a look; one call is for one of those who wait, but for the last."""
        with suppress(TimeoutError):
            async with asyncio.timeout(every):
                while not self._now.is_set():
                    await self._now.wait()
        if not self._stopping:
            self._now.clear()


def _is_request(event: Event) -> bool:
    return event.type == events_pb2.RunRequested.DESCRIPTOR.full_name


def _key(event: Event) -> RunKey:
    try:
        request = events_pb2.RunRequested.FromString(event.payload)
    except DecodeError as error:
        raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
    return RunKey(request.execution_id, request.run_id)
