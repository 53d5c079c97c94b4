"""A broker behind a TCP proxy: away while the proxy is stopped, and with all topics and groups when it is back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from deploy.local.broker import Broker
from deploy.local.ports import LOOPBACK, Ports


class BrokerProxy:
    """Listens on `port`, which the broker advertises to its clients, and forwards to the port `target`."""

    def __init__(self, port: int, target: int) -> None:
        self.bootstrap = f"{LOOPBACK}:{port}"
        self.port = port
        self.target = target
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._forward, LOOPBACK, self.port)

    async def stop(self) -> None:
        """Refuse new connections and abort the open ones."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream_reader, upstream = await asyncio.open_connection(LOOPBACK, self.target)
        ends = {writer, upstream}
        self._writers |= ends
        try:
            await asyncio.gather(_copy(reader, upstream), _copy(upstream_reader, writer))
        finally:
            self._writers -= ends


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxied_broker(log: Path) -> AsyncIterator[BrokerProxy]:
    """A running broker behind a running proxy; both stopped at the end."""
    with Ports() as ports:
        proxy = BrokerProxy(ports.take(), ports.take())
        broker = Broker(proxy.target, log, advertised_port=proxy.port)
        try:
            await broker.start()
            await proxy.start()
            yield proxy
        finally:
            await proxy.stop()
            await broker.stop()
