"""Requests that arrive together: few of each client begin in one turn of the event loop, so that others have theirs."""

import asyncio
from collections import Counter, deque


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
