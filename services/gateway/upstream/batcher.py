"""Reads that arrive together share a call.

While a call of a lane (an organisation, or one question of an organisation) is under way, what arrives forms the next
batch. It starts when the call ends, or after `PATIENCE_SECONDS`, so that one slow call holds nobody up for long.
Every batch starts after the reads in it arrived: nobody gets an answer from before the question.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import Unavailable

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_IN_FLIGHT = 4
MAX_WAIT_SECONDS = 0.05
MAX_KEYS = 1000

Fetch = Callable[[Sequence[K]], Awaitable[Mapping[K, V]]]
"""Gets many at once; what does not exist is left out."""


class Batch(Generic[K, V]):
    """One call and those who wait for it; when the last of them has gone, the call is cancelled."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.waiters = 0
        self.task: asyncio.Task[None] | None = None
        self.keys: dict[K, None] = {}
        self.done: asyncio.Future[Mapping[K, V]] = asyncio.get_running_loop().create_future()

    async def results(self, seconds: float) -> Mapping[K, V]:
        """What was found, by key; the error of the call, or TimeoutError after `seconds`. Once for each `join`."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self.done)
        finally:
            self.waiters -= 1
            if not self.waiters and self.task is not None and not self.done.done():
                self.task.cancel()


class _Queue(Generic[K, V]):
    """The batches of one lane."""

    def __init__(self, lane: Hashable) -> None:
        self.lane = lane
        self.waiting: deque[Batch[K, V]] = deque()
        self.running: set[asyncio.Task[None]] = set()
        self.max_wait: asyncio.TimerHandle | None = None


class Batcher(Generic[K, V]):
    """Reads of one kind. `join` never waits; the batch that it gives does."""

    def __init__(
        self,
        fetch: Fetch[K, V],
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        max_wait: float = MAX_WAIT_SECONDS,
        max_keys: int = MAX_KEYS,
    ) -> None:
        """`in_flight` bounds the calls of a lane when they are slow, `most_keys` the keys of one call."""
        self._fetch = fetch
        self._max_in_flight = max_in_flight
        self._max_wait = max_wait
        self._most_keys = max_keys
        self._queues: dict[Hashable, _Queue[K, V]] = {}

    def join(self, caller: Caller, keys: Sequence[K], *, question: bytes = b"") -> Batch[K, V]:
        """The batch that will have these keys (at most `most_keys`), of the caller's organisation and this question."""
        lane = (caller.org_id, question)
        queue = self._queues.get(lane)
        if queue is None:
            queue = self._queues[lane] = _Queue(lane)
        batch = self._with_room(queue, caller, len(keys))
        batch.keys.update(dict.fromkeys(keys))
        batch.waiters += 1
        self._go_on(queue)
        return batch

    def _with_room(self, queue: _Queue[K, V], caller: Caller, count: int) -> Batch[K, V]:
        if queue.waiting and len(queue.waiting[-1].keys) + count <= self._most_keys:
            return queue.waiting[-1]
        queue.waiting.append(Batch(caller))
        return queue.waiting[-1]

    def _go_on(self, queue: _Queue[K, V]) -> None:
        """Start the next batch when nothing is under way; else see that it does not wait for too long."""
        while queue.waiting and not queue.running:
            self._start(queue)
        if queue.waiting and queue.max_wait is None:
            queue.max_wait = asyncio.get_running_loop().call_later(self._max_wait, self._lose_patience, queue)

    def _lose_patience(self, queue: _Queue[K, V]) -> None:
        queue.max_wait = None
        if queue.waiting and len(queue.running) < self._max_in_flight:
            self._start(queue)
        self._go_on(queue)

    def _start(self, queue: _Queue[K, V]) -> None:
        """Start the next batch; one that everybody has left is dropped."""
        batch = queue.waiting.popleft()
        if batch.waiters:
            self._call(queue, batch)
        if not queue.waiting and queue.max_wait is not None:
            queue.max_wait.cancel()
            queue.max_wait = None

    def _call(self, queue: _Queue[K, V], batch: Batch[K, V]) -> None:
        batch.task = asyncio.create_task(self._run(batch))
        queue.running.add(batch.task)
        batch.task.add_done_callback(lambda done: self._ended(queue, done))

    def _ended(self, queue: _Queue[K, V], done: asyncio.Task[None]) -> None:
        queue.running.discard(done)
        self._go_on(queue)
        if not queue.running and not queue.waiting:
            self._queues.pop(queue.lane, None)

    async def _run(self, batch: Batch[K, V]) -> None:
        """The call has the default deadline of its channel, whoever started it."""
        try:
            with context.bind(batch.caller), context.limit_time(None):
                found = await self._fetch(list(batch.keys))
        except BaseException as error:
            _fail(batch.done, error)
            if not isinstance(error, Exception):
                raise
        else:
            batch.done.set_result(found)


def _fail(done: asyncio.Future[Mapping[K, V]], error: BaseException) -> None:
    done.set_exception(error if isinstance(error, Exception) else Unavailable("stopped"))
    done.exception()
