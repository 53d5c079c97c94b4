"""Turns at something scarce, given to organisations in rotation."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.errors import ResourceExhausted, Unavailable
from services.chassis.limit_refusals import refusals

RETRY_SECONDS = 1.0
LIMIT = "waiting_requests"
TOO_MANY_WAITING = "TOO_MANY_WAITING"


class FairTurns:
    """At most `at_once` turns at the same time, `per_org` of them for one organisation.

    The organisations that wait are served in rotation, whatever the number of their requests. An organisation has at
    most `waiting_per_org` requests waiting, all together have at most `waiting`; where requests cost something while
    they wait, such as memory, their costs are limited instead. None: what waits is part of something that was admitted,
    and is never refused.
    """

    def __init__(self, at_once: int, *, per_org: int, waiting_per_org: int | None, waiting: int | None) -> None:
        self._free = at_once
        self._per_org = per_org
        self._waiting_per_org = waiting_per_org
        self._waiting_limit = waiting
        self._running: Counter[str] = Counter()
        # The requests that wait, by organisation; the organisation whose turn is next comes first.
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        self._costs: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return sum(map(len, self._queues.values()))

    @asynccontextmanager
    async def take(self, org_id: str, cost: int = 1) -> AsyncIterator[None]:
        """Wait for a turn and have it inside the block.

        Raises:
            ResourceExhausted: too many requests of the organisation wait already.
            Unavailable: too many wait.
        """
        if self._free and self._running[org_id] < self._per_org:
            self._begin(org_id)
        else:
            await self._wait(org_id, cost)
        try:
            yield
        finally:
            self._end(org_id)

    async def _wait(self, org_id: str, cost: int) -> None:
        self._check_room(org_id, cost)
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(org_id, deque()).append(turn)
        self._costs[org_id] += cost
        try:
            await turn
        except asyncio.CancelledError:
            # Otherwise the turn was granted in the same moment, and goes to the next one.
            if turn.cancelled():
                self._forget(org_id, turn)
            else:
                self._end(org_id)
            raise
        finally:
            self._costs[org_id] -= cost
            if not self._costs[org_id]:
                del self._costs[org_id]

    def _check_room(self, org_id: str, cost: int) -> None:
        if self._waiting_per_org is not None and self._costs[org_id] + cost > self._waiting_per_org:
            refusals.labels(LIMIT).inc()
            message = "Too many such requests of this organisation are waiting already: send fewer at once"
            raise ResourceExhausted(message, reason=TOO_MANY_WAITING, retry_after=RETRY_SECONDS)
        if self._waiting_limit is not None and self._costs.total() + cost > self._waiting_limit:
            refusals.labels(LIMIT).inc()
            message = "Too many such requests are waiting: try again"
            raise Unavailable(message, reason=TOO_MANY_WAITING, retry_after=RETRY_SECONDS)

    def _begin(self, org_id: str) -> None:
        self._free -= 1
        self._running[org_id] += 1

    def _end(self, org_id: str) -> None:
        self._free += 1
        self._running[org_id] -= 1
        if not self._running[org_id]:
            del self._running[org_id]
        self._grant()

    def _grant(self) -> None:
        """Give a free turn to the first organisation that may have one; it is the last in the rotation then."""
        for org_id in [each for each in self._queues if self._running[each] < self._per_org]:
            if not self._free:
                return
            queue = self._queues.pop(org_id)
            while queue and queue[0].done():  # cancelled, and about to be forgotten
                queue.popleft()
            if not queue:
                continue
            self._begin(org_id)
            queue.popleft().set_result(None)
            if queue:
                self._queues[org_id] = queue
            return

    def _forget(self, org_id: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(org_id)
        if queue is None:
            return
        if turn in queue:
            queue.remove(turn)
        if not queue:
            del self._queues[org_id]
