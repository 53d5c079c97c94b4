"""Messages of bytes between two processes over a stream socket."""

import asyncio
import socket
import struct

_LENGTH = struct.Struct("!i")
_BUFFER_BYTES = 256 * 1024


class MessageStream:
    """Whole messages in both directions, each after its length: the framing of `multiprocessing.connection`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> None:
        self._reader = reader
        self._writer = writer
        self._limit = limit

    @classmethod
    async def open(cls, sock: socket.socket, *, limit: int) -> "MessageStream":
        """The messages over a connected stream socket, which belongs to the stream from now on.

        `limit` is the size in bytes of the largest message that is received.
        """
        reader, writer = await asyncio.open_unix_connection(sock=sock, limit=_BUFFER_BYTES)
        return cls(reader, writer, limit)

    async def send(self, message: bytes) -> None:
        """Send a message; waits while the other side does not read.

        Raises:
            OSError: it is gone.
        """
        self._writer.write(_LENGTH.pack(len(message)))
        self._writer.write(message)
        await self._writer.drain()

    async def receive(self) -> bytes:
        """The next message.

        Raises:
            EOFError: the other side has ended.
            ValueError: for a message that is too large.
        """
        (size,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
        if not 0 <= size <= self._limit:
            raise ValueError(f"a message of {size} bytes; at most {self._limit} are read")
        return await self._reader.readexactly(size)

    def close(self) -> None:
        self._writer.close()
