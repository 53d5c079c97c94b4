"""Makes one call for the items of requests that arrive at the same time; each item has an outcome of its own.

While a call of a queue is under way, items that arrive form the next batch. It starts when the call ends or, where more
calls may be in flight, after a short wait, so that a slow call delays nobody for long.
Every batch starts after its items arrived, so no read gets data from before it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Generic, Protocol, Self, TypeVar, cast

from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import Unavailable


class Divisible(Protocol):
    """A sequence, or something else that has a length and slices."""

    def __len__(self) -> int: ...
    def __getitem__(self, part: slice, /) -> Self: ...


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D", bound=Divisible)

# The outcomes of items, each of which occurs once. An item that is left out is run again, alone.
Run = Callable[[Sequence[K]], Awaitable[Mapping[K, V | Exception]]]


async def run_in_halves(items: D, run: Callable[[D], Awaitable[bool]]) -> None:
    """Run the items at once. What `run` returns False for, never a single item, is run in halves, in order.

    To find one failing item among a thousand takes about twenty calls.
    """
    parts = [items]
    while parts:
        part = parts.pop()
        if not await run(part):
            middle = len(part) // 2
            parts += [part[middle:], part[:middle]]


class _Batch(Generic[K, V]):
    """The requests of one call."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.items: set[K] = set()
        self.requests: dict[Request[K, V], None] = {}
        self.outcomes: dict[K, V | Exception] = {}
        self.task: asyncio.Task[None] | None = None

    def settle(self, outcomes: Mapping[K, V | Exception]) -> None:
        """Add these outcomes; requests that have all of theirs go on."""
        self.outcomes.update(outcomes)
        is_complete = self.outcomes.keys() >= self.items  # as almost always, and cheaper than each request's items
        for request in self.requests:
            if not request.settled.done() and (is_complete or all(item in self.outcomes for item in request.items)):
                request.settled.set_result(None)


class Request(Generic[K, V]):
    """Items that wait for their outcomes. A future for each costs a third of `asyncio.timeout` and `asyncio.shield`."""

    def __init__(self, batch: _Batch[K, V], items: Sequence[K]) -> None:
        self.items = items
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._batch = batch
        batch.requests[self] = None
        batch.items.update(items)

    async def results(self, timeout: float | None = None) -> Mapping[K, V]:
        """At least the values of these items; raises the error of the first of them that has one. Await it once.

        A call leaves out the items that no request waits for any more.

        Raises:
            TimeoutError: after `timeout` seconds.
        """
        batch, timer = self._batch, None
        if timeout is not None and not self.settled.done():
            timer = asyncio.get_running_loop().call_later(timeout, self._expire)
        try:
            await self.settled
        finally:
            if timer is not None:
                timer.cancel()
            del batch.requests[self]
            if batch.task is not None and not batch.requests:
                batch.task.cancel()
        for item in self.items:
            if isinstance(outcome := batch.outcomes[item], Exception):
                raise outcome
        return cast(Mapping[K, V], batch.outcomes)

    def _expire(self) -> None:
        if not self.settled.done():
            self.settled.set_exception(TimeoutError())


class _Queue(Generic[K, V]):
    """Batches that run one after the other, unless a call is slow."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: deque[_Batch[K, V]] = deque()
        self.running: set[asyncio.Task[None]] = set()
        self.timer: asyncio.TimerHandle | None = None
        self.is_gathering = False


class Batcher(Generic[K, V]):
    """Calls of one kind, for items of one kind."""

    def __init__(
        self,
        run: Run[K, V],
        *,
        max_in_flight: int = 4,
        max_wait: float = 0.05,
        max_items: int = 1000,
        turns: int = 0,
        splits: Callable[[Exception], bool] = lambda _: False,
        finishes: bool = False,
    ) -> None:
        """`max_in_flight` limits the calls of a queue when they are slow, `max_items` the items of one call.

        With `turns` a batch starts after a turn of the event loop that brought no more items, or after so many turns:
        the clients that one call has answered send their next requests within a few turns, and without waiting for
        them calls are half as large. An idle process has turns that take microseconds.

        A call that fails is made again in halves if its error `splits`; other errors are the outcome of all its items.
        A call is cancelled when no request waits for it any more, unless it always `finishes`.
        """
        self._run, self._splits, self._finishes = run, splits, finishes
        self._max_in_flight, self._max_wait, self._max_items = max_in_flight, max_wait, max_items
        self._turns = turns
        self._queues: dict[str, _Queue[K, V]] = {}

    async def get(self, caller: Caller, item: K, timeout: float | None = None, *, queue: str | None = None) -> V:
        """The value of one item; see `join` and `Request.results`."""
        return (await self.join(caller, (item,), queue=queue).results(timeout))[item]

    def join(self, caller: Caller, items: Sequence[K], *, queue: str | None = None) -> Request[K, V]:
        """Ask for the outcomes of these items (at most `max_items`) without waiting for them.

        They share calls, which are made as the first caller, with the others of the `queue`: by default that of the
        caller's organisation.
        """
        name = caller.org_id if queue is None else queue
        joined = self._queues.get(name)
        if joined is None:
            joined = self._queues[name] = _Queue(name)
        if not joined.waiting or len(joined.waiting[-1].items) + len(items) > self._max_items:
            joined.waiting.append(_Batch(caller))
        request = Request(joined.waiting[-1], items)
        self._advance(joined)
        return request

    def is_busy(self, queue: str) -> bool:
        """Whether the queue has calls that wait or are under way."""
        return queue in self._queues

    def _advance(self, queue: _Queue[K, V]) -> None:
        """Start the next batch when no call is under way; else limit how long it waits."""
        if queue.is_gathering:
            return
        if queue.waiting and not queue.running:
            queue.is_gathering = True
            if self._turns:
                asyncio.get_running_loop().call_soon(self._gather, queue, self._turns, 0)
            else:
                self._gather(queue, 0, 0)
        elif queue.waiting and queue.timer is None and self._max_in_flight > 1:
            queue.timer = asyncio.get_running_loop().call_later(self._max_wait, self._start_early, queue)
        elif not queue.waiting and not queue.running:
            self._queues.pop(queue.name, None)

    def _gather(self, queue: _Queue[K, V], turns: int, before: int) -> None:
        """Start the next batch after so many turns, or after one that brought no more items than there were before."""
        count = sum(len(batch.items) for batch in queue.waiting)
        if turns > 1 and count > before:
            asyncio.get_running_loop().call_soon(self._gather, queue, turns - 1, count)
            return
        queue.is_gathering = False
        while queue.waiting and not queue.running:
            self._start_next(queue)
        self._advance(queue)

    def _start_early(self, queue: _Queue[K, V]) -> None:
        queue.timer = None
        if len(queue.running) < self._max_in_flight:
            self._start_next(queue)
        self._advance(queue)

    def _start_next(self, queue: _Queue[K, V]) -> None:
        """Start the next batch; one without requests is dropped."""
        batch = queue.waiting.popleft()
        if batch.requests:
            task = asyncio.create_task(self._run_batch(batch))
            batch.task = None if self._finishes else task
            queue.running.add(task)
            task.add_done_callback(partial(self._on_done, queue))
        if not queue.waiting and queue.timer is not None:
            queue.timer.cancel()
            queue.timer = None

    def _on_done(self, queue: _Queue[K, V], done: asyncio.Task[None]) -> None:
        queue.running.discard(done)
        self._advance(queue)

    async def _run_batch(self, batch: _Batch[K, V]) -> None:
        """Calls have their channel's default deadline, not that of the request that started them."""
        awaited = dict.fromkeys(item for request in batch.requests for item in request.items)
        try:
            with context.bind(batch.caller), context.limit_time(None):
                if awaited:
                    await run_in_halves(list(awaited), partial(self._run_part, batch))
        except BaseException:  # the process stops
            stopped = Unavailable("The service is shutting down, try again")
            batch.settle({item: stopped for item in batch.items if item not in batch.outcomes})
            raise

    async def _run_part(self, batch: _Batch[K, V], items: Sequence[K]) -> bool:
        """False if the halves are to be run instead."""
        try:
            outcomes = await self._run(items)
        except Exception as error:
            if len(items) > 1 and self._splits(error):
                return False
            outcomes = dict.fromkeys(items, error)
        if len(items) == 1 and not outcomes:
            outcomes = {items[0]: LookupError("a call for a single item has left it out")}
        batch.settle(outcomes)
        if left_out := [item for item in items if item not in outcomes]:
            await asyncio.gather(*(self._run_part(batch, (item,)) for item in left_out))
        return True
