"""Child processes that die with their parent and write their output to a log file."""

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
    """A child ended unexpectedly. The message has its name, exit code and last log lines."""


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """`env` is added to the environment of the parent; `grace` is the time from SIGTERM to SIGKILL in seconds."""

    name: str
    argv: Sequence[str]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    grace: float = 15.0


class Child:
    """A process that can be started again after it ended."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self.expected_to_run = False
        # Held while one of several watchers stops and starts it, so that no other takes its end for a death.
        self.changing = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def pid(self) -> int:
        """The pid of the last start.

        Raises:
            ProcessLookupError: it was never started.
        """
        if self._process is None:
            raise ProcessLookupError(f"{self.name} was never started")
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs or before the first start; negative: the signal that ended it."""
        return self._process.poll() if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it in a new session, which Ctrl-C in the terminal does not reach."""
        self.spec.log.parent.mkdir(parents=True, exist_ok=True)
        with open(self.spec.log, "ab", opener=_open_private) as log:
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
        """Wait until `probe` returns True.

        Raises:
            ChildDied: the process ends before.
            TimeoutError: after `within` seconds.
        """

        async def alive_and_ready() -> bool:
            self.check()
            return await probe()

        if not await poll_until(alive_and_ready, within=within):
            raise TimeoutError(f"{self.name} was not ready within {within:.0f} s\n{self.tail()}")

    def check(self) -> None:
        """Check that the process runs.

        Raises:
            ChildDied: it ended unexpectedly.
        """
        if self.expected_to_run and not self.running:
            raise ChildDied(f"{self.name} ended with {_exit_text(self.exit_code)}\n{self.tail()}")

    async def stop(self) -> None:
        """SIGTERM, then SIGKILL to its whole process group after the grace period, if it runs."""
        self.expected_to_run = False
        if self.running:
            self.send(signal.SIGTERM)
            await self.ended(self.spec.grace)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL to its whole process group; wait for its end."""
        self.expected_to_run = False
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self.ended(10.0)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone; SIGSTOP has stopped all of its threads, or found it ended, on return."""
        if self._process is not None:
            self._process.send_signal(number)
            if number is signal.SIGSTOP and sys.platform == "linux" and self.running:
                os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    async def ended(self, within: float) -> bool:
        """Wait up to `within` seconds for its end; whether it ended."""

        async def has_ended() -> bool:
            return not self.running

        return await poll_until(has_ended, within=within)

    def tail(self, lines: int = 20) -> str:
        """The last lines of its log, indented."""
        if not self.spec.log.exists():
            return ""
        with self.spec.log.open(errors="replace") as log:
            return "".join(f"    {line.rstrip()}\n" for line in deque(log, maxlen=lines)).rstrip("\n")


def _open_private(path: str, flags: int) -> int:
    """Logs are for their owner only: they quote what tests send and see."""
    return os.open(path, flags, 0o600)


def die_with_parent() -> Callable[[], None] | None:
    """For `preexec_fn`: asks Linux to kill the new process when the thread that started it ends."""
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
    """Call `probe` every 20 ms until it returns True; False after `within` seconds."""
    deadline = time.monotonic() + within
    while not await probe():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
