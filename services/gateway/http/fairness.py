"""What keeps clients from holding up each other: paced starts of requests, and long answers in pieces."""

import asyncio
from collections import Counter, deque

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

PIECE_BYTES = 64 * 1024


class PacedStarts:
    """Clients that wait are served at the same pace, whatever the number of their requests."""

    def __init__(self, at_once: int) -> None:
        """`at_once` requests of a client may begin in one turn of the event loop."""
        self._at_once = at_once
        self._begun: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._is_scheduled = False

    async def wait(self, client: str) -> None:
        """Until a request of the client may begin."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._next_turn)
        if client not in self._waiting and self._begun[client] < self._at_once:
            self._begun[client] += 1
            return
        start = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(start)
        await start

    def _next_turn(self) -> None:
        self._begun.clear()
        for client, queue in list(self._waiting.items()):
            while queue and self._begun[client] < self._at_once:
                start = queue.popleft()
                if not start.done():  # otherwise its connection has ended
                    self._begun[client] += 1
                    start.set_result(None)
            if not queue:
                del self._waiting[client]
        self._is_scheduled = bool(self._begun)
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._next_turn)


class Pieces(Payload):
    """A long body. The connection gets the next piece only when the client has read most of the one before, and others
    have had their turn.
    """

    def __init__(self, value: bytes) -> None:
        super().__init__(value, content_type="application/octet-stream")
        self._whole = value

    @property
    def size(self) -> int:
        return len(self._whole)

    @property
    def autoclose(self) -> bool:
        return True

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._whole.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        whole = memoryview(self._whole)
        for start in range(0, len(whole), PIECE_BYTES):
            await writer.write(whole[start : start + PIECE_BYTES])
            await asyncio.sleep(0)
