"""Coalesces reads that arrive at the same time into one call.

While a call of a queue (an organisation, or one question of an organisation) is under way, reads that arrive form the
next batch. It starts when the call ends, or after `MAX_WAIT_SECONDS`, so that a slow call delays nobody for long.
Every batch starts after its reads arrived, so no read gets data from before it.
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
"""Gets many keys at once; keys that do not exist are left out."""


class Batch(Generic[K, V]):
    """One call and the requests that wait for it; it is cancelled when the last of them stops waiting."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.waiters = 0
        self.task: asyncio.Task[None] | None = None
        self.keys: dict[K, None] = {}
        self.done: asyncio.Future[Mapping[K, V]] = asyncio.get_running_loop().create_future()

    async def results(self, timeout: float) -> Mapping[K, V]:
        """Values by key; the error of the call, or TimeoutError after `timeout` seconds. Await once for each `join`."""
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.shield(self.done)
        finally:
            self.waiters -= 1
            if not self.waiters and self.task is not None and not self.done.done():
                self.task.cancel()


class _Queue(Generic[K, V]):
    """Batches that run one after the other, unless a call is slow."""

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.waiting: deque[Batch[K, V]] = deque()
        self.running: set[asyncio.Task[None]] = set()
        self.timer: asyncio.TimerHandle | None = None


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
        """`max_in_flight` limits the calls of a queue when they are slow, `max_keys` the keys of one call."""
        self._fetch = fetch
        self._max_in_flight = max_in_flight
        self._max_wait = max_wait
        self._max_keys = max_keys
        self._queues: dict[Hashable, _Queue[K, V]] = {}

    def join(self, caller: Caller, keys: Sequence[K], *, question: bytes = b"") -> Batch[K, V]:
        """The batch that will have these keys (at most `max_keys`), of the caller's organisation and this question."""
        queue_key = (caller.org_id, question)
        queue = self._queues.get(queue_key)
        if queue is None:
            queue = self._queues[queue_key] = _Queue(queue_key)
        batch = self._batch_with_room(queue, caller, len(keys))
        batch.keys.update(dict.fromkeys(keys))
        batch.waiters += 1
        self._advance(queue)
        return batch

    def _batch_with_room(self, queue: _Queue[K, V], caller: Caller, count: int) -> Batch[K, V]:
        if queue.waiting and len(queue.waiting[-1].keys) + count <= self._max_keys:
            return queue.waiting[-1]
        queue.waiting.append(Batch(caller))
        return queue.waiting[-1]

    def _advance(self, queue: _Queue[K, V]) -> None:
        """Start the next batch when no call is under way; else limit how long it waits."""
        while queue.waiting and not queue.running:
            self._start_next(queue)
        if queue.waiting and queue.timer is None:
            queue.timer = asyncio.get_running_loop().call_later(self._max_wait, self._start_early, queue)

    def _start_early(self, queue: _Queue[K, V]) -> None:
        queue.timer = None
        if queue.waiting and len(queue.running) < self._max_in_flight:
            self._start_next(queue)
        self._advance(queue)

    def _start_next(self, queue: _Queue[K, V]) -> None:
        """Start the next batch; one without waiters is dropped."""
        batch = queue.waiting.popleft()
        if batch.waiters:
            batch.task = asyncio.create_task(self._run(batch))
            queue.running.add(batch.task)
            batch.task.add_done_callback(lambda done: self._on_done(queue, done))
        if not queue.waiting and queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None

    def _on_done(self, queue: _Queue[K, V], done: asyncio.Task[None]) -> None:
        queue.running.discard(done)
        self._advance(queue)
        if not queue.running and not queue.waiting:
            self._queues.pop(queue.key, None)

    async def _run(self, batch: Batch[K, V]) -> None:
        """The call has its channel's default deadline, not that of the request that started it."""
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
