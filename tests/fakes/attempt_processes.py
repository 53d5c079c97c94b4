"""Processes of attempts that are tasks of the test: the same messages, no process."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.child_process import ChildEnded
from services.chassis.message_stream import MessageStream
from services.executor.worker.processes.attempt_process import serve
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker.processes.process_limits import AttemptLimits, CpuAllowance

LIMITS = AttemptLimits(CpuAllowance(60, 0.25), 1024**3)
_MESSAGE_LIMIT = 96 * 1024 * 1024


class TaskChild:
    """A child that runs in a task of this process."""

    pid = 0

    def __init__(self, work: "asyncio.Task[None]", stream: MessageStream) -> None:
        self._work = work
        self._stream = stream
        self.killed = False

    @property
    def running(self) -> bool:
        return not self._work.done()

    async def send(self, message: bytes) -> None:
        if self.killed:
            raise ChildEnded(-signal.SIGKILL)
        await self._stream.send(message)

    async def receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except (EOFError, OSError):
            raise ChildEnded(-signal.SIGKILL if self.killed else 0) from None

    def kill(self) -> None:
        self.killed = True
        self._work.cancel()
        self._stream.close()

    async def stop(self) -> int:
        self.kill()
        await asyncio.wait({self._work})
        return -signal.SIGKILL


async def start_task() -> TaskChild:
    ours, theirs = socket.socketpair()
    work = asyncio.create_task(serve(theirs, limits=False))
    return TaskChild(work, await MessageStream.open(ours, limit=_MESSAGE_LIMIT))


@asynccontextmanager
async def task_processes(limits: AttemptLimits = LIMITS) -> AsyncIterator[AttemptProcesses]:
    async with AttemptProcesses(start_task, limits, idle=2).open() as processes:
        yield processes
