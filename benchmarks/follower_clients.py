"""Clients that follow executions by server-sent events, in a process of their own.

They are bare protocols, which cost little next to the server, and come back as a browser's EventSource does: after the
time that the stream's `retry:` names, with the id of the last event.
"""

import asyncio
import multiprocessing
import re
import resource
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

import uvloop

from benchmarks.load import Target
from deploy.local.child import poll_until

CONNECTING_AT_ONCE = 100
# What browsers wait unless the stream says otherwise.
RETRY_SECONDS = 3.0
_EVENT_ID = re.compile(rb"^id: (\d+)", re.MULTILINE)
_RETRY = re.compile(rb"^retry: (\d+)", re.MULTILINE)


def raise_file_limit() -> None:
    """To the hard limit, for this process and those that it starts."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Followers:
    """Starts the process, and asks it things."""

    def __init__(self, target: Target, execution_ids: Sequence[str]) -> None:
        """One follower for each id; the same id may be followed by many."""
        self._number = len(execution_ids)
        self._pipe, other = multiprocessing.Pipe()
        spawn = multiprocessing.get_context("spawn")
        self._process = spawn.Process(target=_run, args=(other, target, list(execution_ids)), daemon=True)

    async def __aenter__(self) -> "Followers":
        self._process.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._process.terminate()
        await asyncio.to_thread(self._process.join)

    async def following(self) -> int:
        """How many have received something on their present connection."""
        return int(await self._ask("following"))

    async def all_following(self, within: float) -> bool:
        """Wait until all follow; whether they do after so many seconds."""

        async def probe() -> bool:
            return await self.following() == self._number

        return await poll_until(probe, within=within)

    async def receipts(self) -> list[tuple[str, int, float]]:
        """What has been received since the last call: execution, number of the event, time."""
        receipts: list[tuple[str, int, float]] = await self._ask("receipts")
        return receipts

    async def _ask(self, what: str) -> Any:
        self._pipe.send(what)
        return await asyncio.to_thread(self._pipe.recv)


class _Crowd:
    """All followers."""

    def __init__(self, target: Target, execution_ids: Sequence[str]) -> None:
        address = urlsplit(target.url)
        self._host, self._port = str(address.hostname), address.port or 80
        self._gate = asyncio.Semaphore(CONNECTING_AT_ONCE)
        self._followers = [_Follower(self, target, id_) for id_ in execution_ids]
        self._number = 0
        self.received: list[tuple[str, int, float]] = []

    async def answer(self, pipe: Connection) -> None:
        for follower in self._followers:
            follower.connect_in(0)
        loop = asyncio.get_running_loop()
        while True:
            asked = await loop.run_in_executor(None, pipe.recv)
            result = {"following": self._number, "receipts": self.received}.get(asked)
            if asked == "receipts":
                self.received = []
            pipe.send(result)

    def count(self, change: int) -> None:
        self._number += change

    async def connect(self, follower: "_Follower") -> None:
        async with self._gate:
            try:
                await asyncio.get_running_loop().create_connection(lambda: follower, self._host, self._port)
            except OSError:
                follower.connect_in(follower.retry_seconds)


class _Follower(asyncio.Protocol):
    """One client."""

    def __init__(self, crowd: _Crowd, target: Target, execution_id: str) -> None:
        self._crowd = crowd
        self._target = target
        self._id = execution_id
        self._last = b""
        self._connecting: asyncio.Task[None] | None = None
        self._follows = False
        self.retry_seconds = RETRY_SECONDS

    def connect_in(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._connect)

    def _connect(self) -> None:
        self._connecting = asyncio.create_task(self._crowd.connect(self))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        request = self._target.request("GET", f"/api/v1/executions/{self._id}/events")
        resumed = b"Last-Event-ID: %s\r\n\r\n" % self._last if self._last else b"\r\n"
        transport.write(request[:-2] + resumed)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if not self._follows and b"text/event-stream" in data:
            self._follows = True
            self._crowd.count(1)
        if match := _RETRY.search(data):
            self.retry_seconds = int(match[1]) / 1000
        for number in _EVENT_ID.findall(data):
            self._last = number
            self._crowd.received.append((self._id, int(number), now))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._follows:
            self._follows = False
            self._crowd.count(-1)
        self.connect_in(self.retry_seconds)


def _run(pipe: Connection, target: Target, execution_ids: Sequence[str]) -> None:
    raise_file_limit()

    async def main() -> None:
        await _Crowd(target, execution_ids).answer(pipe)

    uvloop.run(main())
