"""One child process: dies with its parent, is stopped by its pid, and leaves its output in a log file."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.02
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


class ChildDied(Exception):
    """A child ended although nobody asked it to. The message names it, its exit and its last log lines."""


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to start. `env` is added to the environment of the parent; `grace` is seconds from SIGTERM to SIGKILL."""

    name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    grace: float = 15.0


class Child:
    """A process made from a spec; it may be started again after it ended."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self.expected_to_run = False

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def pid(self) -> int:
        """The pid of the last start. ProcessLookupError if it was never started."""
        if self._process is None:
            raise ProcessLookupError(f"{self.name} was never started")
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs or was never started; negative: the signal that ended it."""
        return self._process.poll() if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it in a session of its own (a Ctrl-C of the terminal does not reach it) with its output appended."""
        self.spec.log.parent.mkdir(parents=True, exist_ok=True)
        with self.spec.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.spec.argv,
                env={**os.environ, **self.spec.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        self.expected_to_run = True

    async def ready(self, probe: Callable[[], Awaitable[bool]], *, within: float) -> None:
        """Wait until `probe` answers True. ChildDied if it ends before, TimeoutError after `within` seconds."""

        async def alive_and_ready() -> bool:
            self.check()
            return await probe()

        if not await poll_until(alive_and_ready, within=within):
            raise TimeoutError(f"{self.name} was not ready within {within:.0f} s\n{self.tail()}")

    def check(self) -> None:
        """ChildDied if it should run and does not."""
        if self.expected_to_run and not self.running:
            raise ChildDied(f"{self.name} ended with {_exit_text(self.exit_code)}\n{self.tail()}")

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL to its whole process group when the grace is over. Nothing if it does not run."""
        self.expected_to_run = False
        if self.running:
            self.send(signal.SIGTERM)
            await self.ended(self.spec.grace)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL to its whole process group; wait until it is gone."""
        self.expected_to_run = False
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self.ended(10.0)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        if self._process is not None:
            self._process.send_signal(number)

    async def ended(self, within: float) -> bool:
        """Wait up to `within` seconds for its end and say whether it came."""

        async def has_ended() -> bool:
            return not self.running

        return await poll_until(has_ended, within=within)

    def tail(self, lines: int = 20) -> str:
        """The last lines of its log, indented."""
        if not self.spec.log.exists():
            return ""
        with self.spec.log.open(errors="replace") as log:
            return "".join(f"    {line.rstrip()}\n" for line in deque(log, maxlen=lines)).rstrip("\n")


def die_with_parent() -> Callable[[], None] | None:
    """What the new process runs before it becomes the program: ask Linux to kill it when its parent ends.

    The parent's thread counts, so children are started from threads that live as long as they should.
    """
    if _libc is None:
        return None
    parent = os.getpid()

    def ask() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


async def run_together(*work: Coroutine[Any, Any, object]) -> None:
    """Do all of it at once; the first failure cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(each)
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def poll_until(probe: Callable[[], Awaitable[bool]], *, within: float) -> bool:
    """Ask `probe` every 20 ms until it answers True; False when `within` seconds have passed before."""
    deadline = time.monotonic() + within
    while not await probe():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
