"""What keeps clients from holding up each other: paced starts of requests, and bounds of what they leave unread.

Answers that wait until their clients read them are sent in pieces, and bounded for each organisation and for all.
"""

import asyncio
from collections import Counter, deque
from typing import Protocol

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from services.chassis import logs, metrics

PIECE_BYTES = 64 * 1024
log = logs.get(__name__)
_evicted = metrics.counter(
    "mobiletest_unread_answers_evicted_total", "Connections closed because answers were not read"
)


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


class Reader(Protocol):
    """The connection of a client."""

    def abort(self) -> None:
        """Close it at once, and forget what was not sent."""


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


class UnreadAnswers:
    """The answers whose clients have not read what was sent. Beyond a limit, those that wait longest are given up."""

    def __init__(self, organisation_bytes: int, process_bytes: int) -> None:
        self._organisation_bytes = organisation_bytes
        self._process_bytes = process_bytes
        self._waiting: dict[Reader, tuple[str, int]] = {}
        self._of: Counter[str] = Counter()

    def hold(self, reader: Reader, org_id: str, size: int) -> None:
        """The client of this organisation does not read now; the answer takes so much memory."""
        self.release(reader)
        self._waiting[reader] = org_id, size
        self._of[org_id] += size
        while self._of[org_id] > self._organisation_bytes:
            self._give_up_oldest(org_id)
        while self._of.total() > self._process_bytes:
            self._give_up_oldest(max(self._of, key=self._of.__getitem__))

    def release(self, reader: Reader) -> None:
        """The client has read on, or has gone."""
        org_id, size = self._waiting.pop(reader, ("", 0))
        self._of[org_id] -= size
        if not self._of[org_id]:
            del self._of[org_id]

    def _give_up_oldest(self, org_id: str) -> None:
        reader = next(each for each, (owner, _) in self._waiting.items() if owner == org_id)
        self.release(reader)
        _evicted.inc()
        log.warning("answer_given_up", org_id=org_id)
        reader.abort()
