"""A gate in front of a hub: requests and answers wait there until a test lets them through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Way:
    """One direction through the gate."""

    def __init__(self) -> None:
        # Something waits, or has gone through.
        self.arrived = asyncio.Event()
        # Forward everything.
        self.open = asyncio.Event()

    async def pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while some := await source.read(1 << 16):
                self.arrived.set()
                await self.open.wait()
                sink.write(some)
                await sink.drain()
        sink.close()


class Gate:
    """At `url` the hub is reached as far as `requests` and `answers` are open. Both are closed at first."""

    def __init__(self, hub_url: str) -> None:
        self._hub = urlsplit(hub_url)
        self.url = ""
        self.requests = Way()
        self.answers = Way()

    async def enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Bring one connection to the hub and back."""
        from_hub, to_hub = await asyncio.open_connection(self._hub.hostname, self._hub.port)
        await asyncio.gather(self.requests.pass_on(reader, to_hub), self.answers.pass_on(from_hub, writer))

    def listening_at(self, port: int) -> None:
        self.url = self._hub._replace(netloc=f"127.0.0.1:{port}").geturl()


@asynccontextmanager
async def gate_before(hub_url: str) -> AsyncIterator[Gate]:
    """A gate on its own port."""
    gate = Gate(hub_url)
    server = await asyncio.start_server(gate.enter, "127.0.0.1", 0)
    gate.listening_at(server.sockets[0].getsockname()[1])
    try:
        yield gate
    finally:
        gate.requests.open.set()
        gate.answers.open.set()
        server.close()
