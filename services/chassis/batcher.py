"""Coalesces reads that arrive at the same time into one call.

While a call of an organisation is under way, reads that arrive form the next batch. It starts when the call ends, or
after `MAX_WAIT_SECONDS`, so that a slow call delays nobody for long.
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
    """One call and the requests that wait for it; it is cancelled when the last of them stops waiting.

    Each request waits for a future of its own: `asyncio.timeout` and `asyncio.shield` cost three times as much.
    """

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.waiters = 0
        self.task: asyncio.Task[None] | None = None
        self.keys: dict[K, None] = {}
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Mapping[K, V]] = self._loop.create_future()
        self._sleepers: list[asyncio.Future[None]] = []

    async def results(self, timeout: float) -> Mapping[K, V]:
        """Values by key; the error of the call, or TimeoutError after `timeout` seconds. Await once for each `join`."""
        try:
            if not self._done.done():
                await self._sleep(timeout)
            return self._done.result()
        finally:
            self.waiters -= 1
            if not self.waiters and self.task is not None and not self._done.done():
                self.task.cancel()

    async def _sleep(self, timeout: float) -> None:
        """Until the call ends."""
        sleeper: asyncio.Future[None] = self._loop.create_future()
        self._sleepers.append(sleeper)
        timer = self._loop.call_later(timeout, _expire, sleeper)
        try:
            await sleeper
        finally:
            timer.cancel()

    def succeed(self, found: Mapping[K, V]) -> None:
        """The call has ended with these values."""
        self._done.set_result(found)
        self._wake()

    def fail(self, error: BaseException) -> None:
        """The call has ended with this error, or was cancelled."""
        self._done.set_exception(error if isinstance(error, Exception) else Unavailable("stopped"))
        self._done.exception()
        self._wake()

    def _wake(self) -> None:
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)


class _Queue(Generic[K, V]):
    """Batches that run one after the other, unless a call is slow."""

    def __init__(self, org_id: str) -> None:
        self.org_id = org_id
        self.waiting: deque[Batch[K, V]] = deque()
        self.running: set[asyncio.Task[None]] = set()
        self.timer: asyncio.TimerHandle | None = None
        self.is_gathering = False


class Batcher(Generic[K, V]):
    """Reads of one kind. `join` never waits; the batch that it gives does."""

    def __init__(
        self,
        fetch: Fetch[K, V],
        *,
        max_in_flight: int = MAX_IN_FLIGHT,
        max_wait: float = MAX_WAIT_SECONDS,
        max_keys: int = MAX_KEYS,
        turns: int = 0,
    ) -> None:
        """`max_in_flight` limits the calls of a queue when they are slow, `max_keys` the keys of one call.

        With `turns` a batch starts after a turn of the event loop that brought no more reads, or after so many turns:
        the clients that one call has answered send their next reads within a few turns, and without waiting for them
        calls are half as large. An idle process has turns that take microseconds.
        """
        self._fetch = fetch
        self._max_in_flight = max_in_flight
        self._max_wait = max_wait
        self._max_keys = max_keys
        self._turns = turns
        self._queues: dict[str, _Queue[K, V]] = {}

    def join(self, caller: Caller, keys: Sequence[K]) -> Batch[K, V]:
        """The batch that will have these keys (at most `max_keys`), of the caller's organisation."""
        queue = self._queues.get(caller.org_id)
        if queue is None:
            queue = self._queues[caller.org_id] = _Queue(caller.org_id)
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
        if self._turns and queue.waiting and not queue.running:
            if not queue.is_gathering:
                queue.is_gathering = True
                asyncio.get_running_loop().call_soon(self._gather, queue, self._turns, 0)
            return
        self._start_waiting(queue)

    def _gather(self, queue: _Queue[K, V], turns_left: int, known: int) -> None:
        """`known` is the number of keys of the turn before."""
        count = sum(len(batch.keys) for batch in queue.waiting)
        if turns_left > 1 and count > known:
            asyncio.get_running_loop().call_soon(self._gather, queue, turns_left - 1, count)
            return
        queue.is_gathering = False
        self._start_waiting(queue)
        self._forget_idle(queue)

    def _start_waiting(self, queue: _Queue[K, V]) -> None:
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
        self._forget_idle(queue)

    def _forget_idle(self, queue: _Queue[K, V]) -> None:
        if not queue.running and not queue.waiting and not queue.is_gathering:
            self._queues.pop(queue.org_id, None)

    async def _run(self, batch: Batch[K, V]) -> None:
        """The call has its channel's default deadline, not that of the request that started it."""
        try:
            with context.bind(batch.caller), context.limit_time(None):
                found = await self._fetch(list(batch.keys))
        except BaseException as error:
            batch.fail(error)
            if not isinstance(error, Exception):
                raise
        else:
            batch.succeed(found)


def _expire(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_exception(TimeoutError())
