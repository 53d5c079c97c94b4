"""Answers requests in child processes: each with CPU, memory and time of its own, and in fair turns."""

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from services.chassis import metrics
from services.chassis.child_process import BlockingMessages, ChildEnded, ChildLimits, ChildProcess, start_child
from services.chassis.fair_turns import FairTurns

# A function of a module, which runs in the children.
Answer = Callable[[bytes], bytes]

_OUT_OF_MEMORY = 3
_KEEP, _RETIRE = b"\x00", b"\x01"
_NICENESS = 5

_jobs = metrics.counter(
    "mobiletest_child_jobs_total", "Requests answered in child processes, by what became of them", ["pool", "outcome"]
)
_waiting = metrics.gauge("mobiletest_child_jobs_waiting", "Requests that wait for a child process", ["pool"])


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What one request may use; `answer_bytes` is the size of its answer."""

    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int
    answer_bytes: int


class JobFailed(Exception):
    """There is no answer; the message says which limit the request exceeded, or how the child ended."""


class ChildPool:
    """Children that answer requests, started when they are needed, at most as many as there are turns.

    A child that has answered `jobs_per_child` requests, or has used more than half of its memory, is replaced.
    """

    def __init__(
        self, name: str, answer: Answer, turns: FairTurns, limits: JobLimits, *, jobs_per_child: int = 1
    ) -> None:
        self._answer = answer
        self._turns = turns
        self._limits = limits
        self._jobs_per_child = jobs_per_child
        self._idle: list[tuple[ChildProcess, int]] = []
        self._name = name
        _waiting.labels(name).set_function(lambda: turns.waiting)

    async def call(self, org_id: str, request: bytes) -> bytes:
        """The answer to the request.

        Raises:
            JobFailed: the job exceeds a limit, or its process ends.
            ResourceExhausted: too many wait.
            Unavailable: too many wait.
        """
        async with self._turns.take(org_id):
            child, jobs = await self._take_child()
            try:
                answer = await self._ask(child, request)
            except BaseException as error:
                await child.stop()
                self._count("failed" if isinstance(error, JobFailed) else "cancelled")
                raise
        self._count("answered")
        if jobs + 1 < self._jobs_per_child and answer[:1] == _KEEP:
            self._idle.append((child, jobs + 1))
        else:
            await child.stop()
        return answer[1:]

    async def warm(self) -> None:
        """Start a child before the first request needs it."""
        self._idle.append((await self._start(), 0))

    async def close(self) -> None:
        """Stop the children that are idle."""
        while self._idle:
            await self._idle.pop()[0].stop()

    async def _take_child(self) -> tuple[ChildProcess, int]:
        while self._idle:
            child, jobs = self._idle.pop()
            if child.running:
                return child, jobs
            await child.stop()
        return await self._start(), 0

    async def _start(self) -> ChildProcess:
        limits = ChildLimits(memory_bytes=self._limits.memory_bytes, file_bytes=0, niceness=_NICENESS)
        main = partial(_serve, self._answer, self._limits)
        return await start_child(main, limits, message_limit=self._limits.answer_bytes + 1)

    async def _ask(self, child: ChildProcess, request: bytes) -> bytes:
        try:
            async with asyncio.timeout(self._limits.wall_seconds):
                await child.send(request)
                return await child.receive()
        except TimeoutError:
            raise JobFailed(f"it takes longer than {self._limits.wall_seconds:g} s") from None
        except ChildEnded as ended:
            raise JobFailed(self._cause(ended.exit_code)) from None

    def _cause(self, exit_code: int) -> str:
        if exit_code == -signal.SIGPROF:
            return f"it takes more than {self._limits.cpu_seconds:g} s of CPU"
        if exit_code == _OUT_OF_MEMORY:
            return f"it takes more than {self._limits.memory_bytes // 2**20} MiB of memory"
        return f"its process ended with {ChildEnded(exit_code)}"

    def _count(self, outcome: str) -> None:
        _jobs.labels(self._name, outcome).inc()


def _serve(answer: Answer, limits: JobLimits, parent: socket.socket) -> None:
    """The child: answer requests until the parent ends. SIGPROF ends a child that uses too much CPU for one."""
    channel, retire_at = BlockingMessages(parent), _peak_bytes() + limits.memory_bytes // 2
    gc.freeze()  # the modules live on: a collection of all of them would take longer than most requests
    while True:
        try:
            request = channel.receive()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)
        try:
            result = answer(request)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        signal.setitimer(signal.ITIMER_PROF, 0)
        channel.send((_RETIRE if _peak_bytes() > retire_at else _KEEP) + result)


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
