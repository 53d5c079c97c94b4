"""A closed-loop HTTP/1.1 load generator: some keep-alive connections that each send the next request at once.

Requests are bytes made beforehand and answers are only measured, so that the generator costs little next to the server.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Load:
    """What a measurement saw. `requests_per_second`; latencies in milliseconds."""

    requests_per_second: float
    p50: float
    p99: float


class UnexpectedAnswer(Exception):
    """An answer was no success; the message has its head and body."""


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
    """Send `requests` round and round over `connections` for `seconds`. UnexpectedAnswer for any but 2xx."""
    latencies: list[float] = []
    supply = cycle(requests)
    started = time.perf_counter()
    await asyncio.gather(*(_client(target, supply, started + seconds, latencies) for _ in range(connections)))
    elapsed = time.perf_counter() - started
    latencies.sort()
    p99 = latencies[int(len(latencies) * 0.99)]
    return Load(len(latencies) / elapsed, statistics.median(latencies) * 1000, p99 * 1000)


async def _client(target: Target, supply: Iterator[bytes], end: float, latencies: list[float]) -> None:
    address = urlsplit(target.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        while (sent := time.perf_counter()) < end:
            writer.write(next(supply))
            await _answer(reader)
            latencies.append(time.perf_counter() - sent)
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> None:
    """Read one answer that states its length."""
    head = await reader.readuntil(b"\r\n\r\n")
    start = head.lower().index(b"content-length:") + len(b"content-length:")
    body = await reader.readexactly(int(head[start : head.index(b"\r\n", start)]))
    if head[9:10] != b"2":
        raise UnexpectedAnswer((head + body).decode(errors="replace"))
