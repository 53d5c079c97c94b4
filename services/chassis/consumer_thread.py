"""A consumer on a thread and an event loop of its own: while it handles a batch, calls are still answered."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from services.chassis.consumer import Consumer
from services.chassis.loop_thread import LoopThread


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
