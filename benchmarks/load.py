"""A closed-loop HTTP/1.1 load generator: some keep-alive connections that each send the next request at once.

Requests are bytes made beforehand and of an answer only status and length are read, so that the generator costs little
next to the server: some 20 microseconds of CPU a request on uvloop, which `Load.generator` states.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import cast
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Load:
    """What a measurement saw. Latencies in milliseconds; `generator`: its own CPU in milliseconds per request."""

    requests: int
    requests_per_second: float
    p50: float
    p99: float
    generator: float


class UnexpectedAnswer(Exception):
    """An answer was no success; the message begins with its head."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server and the API key for it."""

    url: str
    api_key: str

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """A request as it goes over the wire."""
        host = urlsplit(self.url).netloc
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {self.api_key}\r\n"
        length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        return f"{head}{length}\r\n".encode() + body


async def measure(target: Target, requests: Sequence[bytes], *, seconds: float, connections: int = 32) -> Load:
    """Send `requests` round and round over `connections` for `seconds`.

    Raises:
        UnexpectedAnswer: for any but 2xx.
    """
    loop = asyncio.get_running_loop()
    started, cpu = time.perf_counter(), time.process_time()
    plan = _Plan(cycle(requests), started + seconds)
    clients = [_Client(plan, loop.create_future()) for _ in range(connections)]
    try:
        for client in clients:
            await client.connect(target.url)
        await asyncio.gather(*(client.ended for client in clients))
    finally:
        for client in clients:
            client.close()
    elapsed, spent = time.perf_counter() - started, time.process_time() - cpu
    latencies = sorted(plan.latencies)
    number, p99 = len(latencies), latencies[int(len(latencies) * 0.99)]
    return Load(number, number / elapsed, statistics.median(latencies) * 1000, p99 * 1000, spent / number * 1000)


@dataclass(slots=True)
class _Plan:
    """What all connections send until `end`, and how long their answers took."""

    supply: Iterator[bytes]
    end: float
    latencies: list[float] = field(default_factory=list)


class _Client(asyncio.Protocol):
    """One connection. Answers have to state their length."""

    def __init__(self, plan: _Plan, ended: asyncio.Future[None]) -> None:
        self.ended = ended
        self._plan = plan
        self._transport: asyncio.WriteTransport | None = None
        self._head = b""
        self._missing = 0
        self._sent = 0.0

    async def connect(self, url: str) -> None:
        address = urlsplit(url)
        await asyncio.get_running_loop().create_connection(lambda: self, address.hostname or "", address.port or 80)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        elif not self._begin(data):
            return
        if not self._missing:
            self._plan.latencies.append(time.perf_counter() - self._sent)
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(error or ConnectionResetError("the server closed the connection"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _send(self) -> None:
        assert self._transport is not None
        self._sent = time.perf_counter()
        if self._sent < self._plan.end:
            self._transport.write(next(self._plan.supply))
        elif not self.ended.done():
            self.ended.set_result(None)

    def _begin(self, data: bytes) -> bool:
        """Read the head; False while it is incomplete."""
        head = self._head + data
        end = head.find(b"\r\n\r\n")
        self._head = head if end < 0 else b""
        if end < 0:
            return False
        if head[9:10] != b"2":
            self._fail(UnexpectedAnswer(head.decode(errors="replace")))
        self._missing = _content_length(head) - (len(head) - end - 4)
        return True

    def _fail(self, error: Exception) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)


def _content_length(head: bytes) -> int:
    start = head.lower().index(b"content-length:") + len(b"content-length:")
    return int(head[start : head.index(b"\r\n", start)])
