"""Finds runs to claim: by requests from Kafka at once, and from MongoDB whenever a slot is free and nothing came."""

import asyncio
import random

from google.protobuf.message import DecodeError
from mobiletest.executor.v1 import events_pb2

from services.chassis import logs
from services.chassis.consuming import is_transient
from services.chassis.events import Event, InvalidMessage
from services.executor.model.runs import Platform
from services.executor.ports import RunKey, Runs
from services.executor.worker.worker import Worker

AHEAD = 8

log = logs.get(__name__)


class Requests:
    """Handles the run requests of one platform."""

    def __init__(self, runs: Runs, worker: Worker, platform: Platform) -> None:
        self._runs = runs
        self._worker = worker
        self._platform = platform

    def capacity(self) -> int:
        """How many requests may be fetched."""
        return self._worker.free(self._platform)

    async def handle(self, events: list[Event]) -> None:
        """Claim what is asked for and still to be had. What finds no room is found in MongoDB later.

        After a time with full slots most requests are old news, which one query for all of them tells.
        """
        asked = [_key(event) for event in events if _is_request(event)]
        if len(asked) > 1:
            asked = await self._runs.still_claimable(asked)
        await self._worker.take(asked, self._platform)


class Search:
    """Claims the oldest runs that nobody told of: looks every `every` seconds, and at once when a slot comes free."""

    def __init__(self, runs: Runs, worker: Worker, *, every: float = 1.0) -> None:
        self._runs = runs
        self._worker = worker
        self._every = every
        self._now = asyncio.Event()
        worker.on_freed(self._now.set)

    async def run(self) -> None:
        """Search until cancelled; a database that is away is asked again."""
        while True:
            self._now.clear()
            try:
                await self.fill()
            except Exception as error:
                if not is_transient(error):
                    raise
                log.warning("search_failed", error=repr(error))
            await self._pause()

    async def fill(self) -> None:
        """Claim until there is no room or nothing to claim, any of the oldest few: other workers look too."""
        for platform in self._worker.platforms:
            while room := self._worker.free(platform):
                found = await self._runs.claimable([platform], room + AHEAD)
                if not await self._worker.take(random.sample(found, len(found)), platform):
                    break

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(self._every):
                await self._now.wait()
        except TimeoutError:
            return


def _is_request(event: Event) -> bool:
    return event.type == events_pb2.RunRequested.DESCRIPTOR.full_name


def _key(event: Event) -> RunKey:
    try:
        request = events_pb2.RunRequested.FromString(event.payload)
    except DecodeError as error:
        raise InvalidMessage("UNDECODABLE", str(error), event=event) from error
    return RunKey(request.execution_id, request.run_id)
