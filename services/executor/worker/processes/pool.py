"""The processes of a worker's attempts: started when they are needed, used again while nothing speaks against it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mobiletest_automation.model.results import AttemptResult
from services.executor import telemetry
from services.executor.worker.processes.host import AttemptHost
from services.executor.worker.processes.messages import FinishAttempt, RunAttempt
from services.executor.worker.processes.process import AttemptConversation, Child
from services.executor.worker.processes.process_limits import AttemptLimits

STOP_SECONDS = 5.0
# How many attempts a process runs.
ATTEMPTS_LIMIT = 100
# A process that has used more is not used again.
MEMORY_LIMIT = 192 * 1024 * 1024


@dataclass(slots=True)
class AttemptChild:
    """A process, and the organisation of its latest attempt."""

    child: Child
    org_id: str = ""
    attempts: int = 0


class AttemptProcesses:
    """One attempt at a time in each process.

    A process is used again, by another organisation too, only after an attempt that ended by itself and left nothing
    behind.
    """

    def __init__(self, start: Callable[[], Awaitable[Child]], limits: AttemptLimits, *, idle: int) -> None:
        """`idle` is how many processes are kept for later attempts."""
        self._start = start
        self._limits = limits
        self._most_idle = idle
        self._idle: list[AttemptChild] = []
        self._ending: set[asyncio.Task[int]] = set()
        self._warming: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator["AttemptProcesses"]:
        """Begins to start one process, and the fork server with it; at the end of the block all processes end."""
        self._warming = asyncio.create_task(self._warm())
        try:
            yield self
        finally:
            self._warming.cancel()
            await asyncio.wait([self._warming])
            while self._idle:
                self._end(self._idle.pop())
            if self._ending:
                await asyncio.wait(self._ending, timeout=STOP_SECONDS)

    async def warmed(self) -> None:
        """Wait for the first process, which takes seconds, and which attempts wait for. Raises what it failed with."""
        if self._warming is not None:
            await asyncio.shield(self._warming)

    async def _warm(self) -> None:
        self._idle.append(await self._start_child())

    async def run(self, order: RunAttempt, host: AttemptHost) -> AttemptResult:
        """Run an attempt in a process; what happens to the process is in the result's failure."""
        process = await self._take(order.request.org_id)
        conversation = AttemptConversation(process.child, host, self._limits)
        try:
            return await conversation.run(order)
        finally:
            self._give_back(process, conversation.finished)

    async def _take(self, org_id: str) -> AttemptChild:
        """An idle process, of the same organisation if there is one; otherwise a new one."""
        attempt_child = self._take_idle(org_id)
        if attempt_child is None and self._warming is not None and not self._warming.done():
            await asyncio.wait([self._warming])
            attempt_child = self._take_idle(org_id)
        if attempt_child is None:
            attempt_child = await self._start_child()
        attempt_child.org_id = org_id
        return attempt_child

    def _take_idle(self, org_id: str) -> AttemptChild | None:
        for dead in [idle for idle in self._idle if not idle.child.running]:
            self._idle.remove(dead)
            self._end(dead)
        attempt_child = next(
            (idle for idle in self._idle if idle.org_id == org_id), self._idle[-1] if self._idle else None
        )
        if attempt_child is not None:
            self._idle.remove(attempt_child)
        return attempt_child

    async def _start_child(self) -> AttemptChild:
        child = await self._start()
        telemetry.attempt_processes.labels("started").inc()
        return AttemptChild(child)

    def _give_back(self, process: AttemptChild, finished: FinishAttempt | None) -> None:
        process.attempts += 1
        clean = finished is not None and finished.clean and finished.memory_bytes < MEMORY_LIMIT
        if not clean or process.attempts >= ATTEMPTS_LIMIT or len(self._idle) >= self._most_idle:
            self._end(process)
        else:
            self._idle.append(process)

    def _end(self, process: AttemptChild) -> None:
        ending = asyncio.create_task(process.child.stop())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
