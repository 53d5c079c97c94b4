"""The worker's side of a process of attempts."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from services.chassis import logs
from services.chassis.child_process import ChildEnded
from services.executor import telemetry
from services.executor.worker.processes.host import AttemptHost
from services.executor.worker.processes.messages import (
    CancelAttempt,
    FinishAttempt,
    ForgetCall,
    RawMessage,
    ReportProgress,
    RunAttempt,
    UnknownMessage,
    decode,
    encode,
)
from services.executor.worker.processes.process_limits import AttemptLimits

# Calls of one attempt that are answered at the same time; it waits with further ones.
CALLS_AT_ONCE = 16
# How long after its time limit an attempt that does not end by itself is killed.
OVERTIME_SECONDS = 5.0
# How long a cancelled attempt may take to end before it is killed.
CANCEL_SECONDS = 1.5

TOO_MUCH_CPU = "The attempt used too much CPU time."
TOO_MUCH_MEMORY = "The attempt needed too much memory."

log = logs.get(__name__)


class Child(Protocol):
    """A process; `chassis.child_process.ChildProcess`, or a fake."""

    @property
    def pid(self) -> int: ...

    @property
    def running(self) -> bool: ...

    async def send(self, message: bytes) -> None:
        """Send a message.

        Raises:
            ChildEnded: the process has ended.
        """

    async def receive(self) -> bytes:
        """The next message.

        Raises:
            ChildEnded: the process has ended.
        """

    def kill(self) -> None: ...

    async def stop(self) -> int: ...


class AttemptConversation:
    """One attempt in a child: orders it, answers its calls, and ends it."""

    def __init__(self, child: Child, host: AttemptHost, limits: AttemptLimits) -> None:
        self._child = child
        self._host = host
        self._limits = limits
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._free = asyncio.Semaphore(CALLS_AT_ONCE)
        self.finished: FinishAttempt | None = None

    async def run(self, order: RunAttempt) -> AttemptResult:
        """The result, also when the child does not survive. After this `finished` is None if the child was killed."""
        conversation = asyncio.create_task(self._converse(order))
        try:
            await asyncio.wait({conversation}, timeout=order.request.run_seconds + OVERTIME_SECONDS)
            if conversation.done():
                return conversation.result()
            return self._end("late", _late(order.request.run_seconds))
        except asyncio.CancelledError:
            await self._cancel(conversation)
            raise
        finally:
            if self.finished is None:
                self._child.kill()
            conversation.cancel()
            for call in self._calls.values():
                call.cancel()

    async def _cancel(self, conversation: "asyncio.Task[AttemptResult]") -> None:
        if not conversation.done():
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._send(encode(CancelAttempt()))
                    await asyncio.wait({conversation})
        if self.finished is None:
            telemetry.attempt_processes.labels("cancelled").inc()

    async def _converse(self, order: RunAttempt) -> AttemptResult:
        try:
            await self._child.send(encode(order))
            self.finished = await self._answer_calls()
        except ChildEnded as ended:
            log.warning("attempt_process_ended", run_id=order.request.run_id, pid=self._child.pid, cause=str(ended))
            return self._end_of_child(ended)
        except UnknownMessage as error:
            log.error("attempt_process_confused", run_id=order.request.run_id, error=str(error))
            return self._end("lost", _lost(str(error)))
        result = self._host.finish(self.finished)
        if self.finished.out_of_memory:
            return self._end("out_of_memory", _out_of_memory(self._limits))
        return result or self._host.early_end(_lost("it was cancelled"))

    def _end_of_child(self, ended: ChildEnded) -> AttemptResult:
        match -ended.exit_code:
            case signal.SIGXCPU:
                return self._end("out_of_cpu", _out_of_cpu(self._limits))
            case signal.SIGABRT:  # of libraries in other languages, which have no MemoryError
                return self._end("out_of_memory", _out_of_memory(self._limits))
            case _:
                return self._end("lost", _lost(str(ended)))

    def _end(self, outcome: str, failure: Failure) -> AttemptResult:
        telemetry.attempt_processes.labels(outcome).inc()
        return self._host.early_end(failure)

    async def _answer_calls(self) -> FinishAttempt:
        """Answer calls until the attempt has ended."""
        while True:
            message = decode(await self._child.receive())
            match message.kind:
                case ReportProgress.__name__:
                    self._host.report(message)
                case FinishAttempt.__name__:
                    return message.parse(FinishAttempt)
                case ForgetCall.__name__:
                    self._forget(message.parse(ForgetCall).number)
                case _:
                    await self._free.acquire()
                    self._start_call(message)

    def _start_call(self, message: RawMessage) -> None:
        if message.number in self._calls:
            raise UnknownMessage("duplicate call number")
        call = asyncio.create_task(self._answer(message))
        self._calls[message.number] = call
        call.add_done_callback(self._call_ended(message.number))

    def _call_ended(self, number: int) -> Callable[[object], None]:
        def ended(_: object) -> None:
            self._calls.pop(number, None)
            self._free.release()

        return ended

    def _forget(self, number: int) -> None:
        call = self._calls.get(number)
        if call is not None:
            call.cancel()

    async def _answer(self, message: RawMessage) -> None:
        await self._send(await self._host.server.answer(message))

    async def _send(self, message: bytes) -> None:
        try:
            await self._child.send(message)
        except ChildEnded:
            return  # whoever receives from it sees that too


def _out_of_cpu(limits: AttemptLimits) -> Failure:
    message = (
        f"The attempt used more than {limits.cpu}: make its steps or its app model simpler "
        "(MOBILETEST_ATTEMPT_CPU_SECONDS allows more)."
    )
    return Failure(Category.SCRIPT_ERROR, message, reason=TOO_MUCH_CPU)


def _out_of_memory(limits: AttemptLimits) -> Failure:
    message = (
        f"The attempt needed more than {limits.memory_bytes // 2**20} MiB of memory: make its steps or its app model "
        "smaller (MOBILETEST_ATTEMPT_MEMORY_BYTES allows more)."
    )
    return Failure(Category.SCRIPT_ERROR, message, reason=TOO_MUCH_MEMORY)


def _late(seconds: float) -> Failure:
    message = f"the run did not end within its {seconds:g} s"
    return Failure(Category.RUN_TIMEOUT, message, reason="the run took too long")


def _lost(why: str) -> Failure:
    return Failure(Category.SESSION_LOST, f"The process of the attempt was lost: {why}.", "The process was lost.")
