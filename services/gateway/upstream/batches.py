"""Reads by id that arrive together share a call.

Nothing waits while fewer than two calls of an organisation are under way; what arrives after that forms the next
batch. Every batch starts after the reads in it arrived, so nobody gets an answer from before the question.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from services.chassis import context
from services.chassis.context import Caller

V = TypeVar("V")

IN_FLIGHT = 2
MOST_KEYS = 1000

Fetch = Callable[[Sequence[str]], Awaitable[Mapping[str, V]]]
"""Gets many at once; what does not exist is left out."""


class Batch(Generic[V]):
    """One call and those who wait for it."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.keys: dict[str, None] = {}
        self.done: asyncio.Future[Mapping[str, V]] = asyncio.get_running_loop().create_future()

    async def results(self, seconds: float) -> Mapping[str, V]:
        """What was found, by key; the error of the call, or TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds):
            return await asyncio.shield(self.done)


class _Queue(Generic[V]):
    """The batches of one organisation."""

    def __init__(self, org_id: str) -> None:
        self.org_id = org_id
        self.waiting: deque[Batch[V]] = deque()
        self.running: set[asyncio.Task[None]] = set()


class Batches(Generic[V]):
    """Reads of one kind. `join` never waits; the batch that it gives does."""

    def __init__(self, fetch: Fetch[V], *, in_flight: int = IN_FLIGHT, most_keys: int = MOST_KEYS) -> None:
        self._fetch = fetch
        self._in_flight = in_flight
        self._most_keys = most_keys
        self._queues: dict[str, _Queue[V]] = {}

    def join(self, caller: Caller, keys: Sequence[str]) -> Batch[V]:
        """The batch that will have these keys (at most `most_keys`), of the caller's organisation."""
        queue = self._queues.get(caller.org_id)
        if queue is None:
            queue = self._queues[caller.org_id] = _Queue(caller.org_id)
        batch = self._with_room(queue, caller, len(keys))
        batch.keys.update(dict.fromkeys(keys))
        self._start(queue)
        return batch

    def _with_room(self, queue: _Queue[V], caller: Caller, count: int) -> Batch[V]:
        if queue.waiting and len(queue.waiting[-1].keys) + count <= self._most_keys:
            return queue.waiting[-1]
        queue.waiting.append(Batch(caller))
        return queue.waiting[-1]

    def _start(self, queue: _Queue[V]) -> None:
        while queue.waiting and len(queue.running) < self._in_flight:
            task = asyncio.create_task(self._run(queue.waiting.popleft()))
            queue.running.add(task)
            task.add_done_callback(lambda done: self._ended(queue, done))

    def _ended(self, queue: _Queue[V], done: asyncio.Task[None]) -> None:
        queue.running.discard(done)
        self._start(queue)
        if not queue.running and not queue.waiting:
            self._queues.pop(queue.org_id, None)

    async def _run(self, batch: Batch[V]) -> None:
        """The call has the default deadline of its channel, whoever started it."""
        try:
            with context.bind(batch.caller), context.within(None):
                found = await self._fetch(list(batch.keys))
        except BaseException as error:
            _fail(batch.done, error)
            if not isinstance(error, Exception):
                raise
        else:
            batch.done.set_result(found)


def _fail(done: asyncio.Future[Mapping[str, V]], error: BaseException) -> None:
    if isinstance(error, asyncio.CancelledError):
        done.cancel()
        return
    done.set_exception(error)
    done.exception()
