"""A consumer on a thread and an event loop of its own: while it handles a batch, calls are still answered."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import uvloop

from services.chassis import metrics
from services.chassis.consumer import Consumer

# How long a thread keeps the interpreter while another waits for it. A call changes threads about ten times (gRPC, the
# loop, the driver's threads), and with the default of 5 ms waits for each of them.
SWITCH_SECONDS = 0.001


class LoopThread:
    """Runs `work()` to its end. Everything that belongs to an event loop has to be opened by the work itself."""

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._name = name
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False

    async def run(self) -> None:
        """Return or raise as the work does. To be cancelled is to cancel the work and to wait for its end."""
        sys.setswitchinterval(SWITCH_SECONDS)
        with ThreadPoolExecutor(1, self._name) as pool:
            ended = asyncio.get_running_loop().run_in_executor(pool, self._run)
            while not ended.done():
                try:
                    await asyncio.wait([ended])
                except asyncio.CancelledError:
                    self._cancelled = True
                    self.call(self._cancel)
        if self._cancelled:
            raise asyncio.CancelledError
        ended.result()

    def call(self, function: Callable[[], object]) -> None:
        """Call the function on the thread of the work; nothing happens before the work begins and after its end."""
        if self._loop is not None:
            with suppress(RuntimeError):  # closed, perhaps only just now
                self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            self._loop = runner.get_loop()
            runner.run(self._begin())

    async def _begin(self) -> None:
        self._task = asyncio.current_task()
        if self._cancelled:
            return
        lag = asyncio.create_task(metrics.measure_loop_lag(self._name))
        try:
            await self._work()
        finally:
            lag.cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


class ConsumerThread:
    """Opens the consumer on the thread, and runs it there."""

    def __init__(self, open_consumer: Callable[[], AbstractAsyncContextManager[Consumer]]) -> None:
        """`open_consumer` opens all that the handler needs, too, because connections belong to an event loop."""
        self._open = open_consumer
        self._thread = LoopThread("consumer", self._consume)
        self._consumer: Consumer | None = None
        self._stopping = False

    async def run(self) -> None:
        """Consume until `stop`; raises what the consumer dies of."""
        await self._thread.run()

    def stop(self) -> None:
        """Stop fetching; `run` returns when the current batch is handled and committed."""
        self._stopping = True
        self._thread.call(self._stop_consumer)

    async def check(self) -> None:
        """For liveness: raises when the consumer is stuck."""
        if self._consumer is not None:
            await self._consumer.check()

    def _stop_consumer(self) -> None:
        if self._consumer is not None:
            self._consumer.stop()

    async def _consume(self) -> None:
        async with self._open() as consumer:
            self._consumer = consumer
            if not self._stopping:
                await consumer.run()
