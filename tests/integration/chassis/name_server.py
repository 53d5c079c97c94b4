"""A DNS server whose answers change, for what clients do when replicas come and go."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

A, IN = 1, 1
HEADER_BYTES = 12
COMPRESSED_NAME = 0xC000 | HEADER_BYTES
ANSWER = 0x8180


class NameServer(asyncio.DatagramProtocol):
    """Answers every question for an IPv4 address with `addresses`, and all others with nothing."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.port = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", HEADER_BYTES) + 1 + 4
        kind = struct.unpack("!H", data[end - 4 : end - 2])[0]
        addresses = self.addresses if kind == A else []
        records = [struct.pack("!HHHIH4s", COMPRESSED_NAME, A, IN, 0, 4, socket.inet_aton(each)) for each in addresses]
        header = data[:2] + struct.pack("!HHHHH", ANSWER, 1, len(records), 0, 0)
        self._transport.sendto(header + data[HEADER_BYTES:end] + b"".join(records), addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    """A running one."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()
