"""Servers behind a proxy (TCP or TLS): away while the proxy is stopped; when it is back, they have all they had."""

import asyncio
import ssl
from contextlib import suppress

from aiokafka.conn import create_conn
from aiokafka.protocol.admin import CreateTopicsRequest

from deploy.local.broker import Broker
from deploy.local.ports import LOOPBACK


class TcpProxy:
    """Listens on `port` and forwards to the port `target` of this machine."""

    def __init__(self, port: int, target: int, tls: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._target = target
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._forward, LOOPBACK, self.port, ssl=self._tls)

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
        upstream_reader, upstream = await asyncio.open_connection(LOOPBACK, self._target)
        ends = {writer, upstream}
        self._writers |= ends
        try:
            await asyncio.gather(copy_bytes(reader, upstream), copy_bytes(upstream_reader, writer))
        finally:
            self._writers -= ends


class BrokerProxy(TcpProxy):
    """The proxy of a broker that advertises `port` to its clients."""

    def __init__(self, port: int, broker: Broker, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(port, broker.port, tls)
        self.bootstrap = f"{LOOPBACK}:{port}"
        self.broker = broker

    async def lose_topics(self, topic: str, partitions: int) -> None:
        """Restart the broker without topics and groups, with only an empty `topic`, while the proxy is stopped.

        Tansu creates any topic that a client asks for; doing so and creating it on request at once breaks the topic.
        """
        await self.broker.child.kill()
        await self.broker.start()
        connection = await create_conn(LOOPBACK, self.broker.port)
        try:
            created = await connection.send(CreateTopicsRequest([(topic, partitions, 1, [], [])], 5_000, False))
            assert [error for _, error, *_ in created.topic_errors] == [0]
        finally:
            connection.close()


async def copy_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction of a connection until its end, and close the other side."""
    with suppress(OSError):
        while data := await reader.read(64 * 1024):
            writer.write(data)
            await writer.drain()
    writer.close()
