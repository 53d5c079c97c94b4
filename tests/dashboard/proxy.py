"""A bad network between the browser and the gateway."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

CHUNK_BYTES = 65_536


class Proxy:
    """Forwards connections. It can stop after a number of bytes of a connection, and be cut and mended."""

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target)
        self._ends: set[asyncio.StreamWriter] = set()
        self.url = ""
        self._is_cut = False
        # The number of bytes from the browser after which a connection stands still.
        self.stops_after: int | None = None

    def cut(self) -> None:
        """Cut all connections, as a network does that breaks, and those with which the browser tries again."""
        self._is_cut = True
        for end in self._ends:
            end.transport.abort()

    def mend(self) -> None:
        """From now on everything is forwarded."""
        self._is_cut, self.stops_after = False, None

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect to the target, and copy both directions until one end is closed."""
        if self._is_cut:
            writer.transport.abort()
            return
        answers, requests = await asyncio.open_connection(self._target.hostname, self._target.port)
        ends = {writer, requests}
        self._ends |= ends
        copies = [asyncio.create_task(self._send(reader, requests)), asyncio.create_task(_copy(answers, writer))]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for copy in copies:
                copy.cancel()
            await asyncio.gather(*copies, return_exceptions=True)
            self._ends -= ends
            for end in ends:
                end.close()

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = 0
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
            sent += len(chunk)
            if self.stops_after is not None and sent >= self.stops_after:
                await asyncio.Event().wait()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()


@asynccontextmanager
async def serve_proxy(target: str) -> AsyncIterator[Proxy]:
    """A proxy for a URL, on a free port."""
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.forward, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await server.wait_closed()
