"""Child processes with limits, which can be killed: for work whose CPU or memory a tenant decides.

A fork server (multiprocessing's) imports the modules once, and each child is a fork of it: it starts in milliseconds
and shares their memory. The fork server is an interpreter of its own, so neither gRPC nor an event loop is ever forked,
and neither it nor a child has or can read what the service knows (`process_isolation`).
"""

import asyncio
import fcntl
import multiprocessing
import multiprocessing.util
import os
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from services.chassis.message_stream import MessageStream
from services.chassis.process_isolation import spawn_without_settings

MESSAGE_LIMIT = 8 * 1024 * 1024
_FIRST = "services.chassis.fork_server"
_FORKED = multiprocessing.get_context("forkserver")
_preloaded: dict[str, None] = {}
# What `exitcode` says when the fork server was killed; the child may still run.
_UNKNOWN_EXIT = 255

# What a child does: a function of a module, with the socket to its parent, which ends when the parent does.
#
# It talks with `MessageStream.open(socket)`, or with `BlockingMessages(socket)` without an event loop.
ChildMain = Callable[[socket.socket], None]


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """The limits of a child for the whole of its life; None is no limit.

    `memory_bytes` is what it may allocate besides what it shares with the fork server, `file_bytes` the size of a file
    that it may write.
    """

    memory_bytes: int | None = None
    file_bytes: int | None = None
    niceness: int = 0


class ChildEnded(Exception):
    """The child has ended; `exit_code` is negative for a signal."""

    def __init__(self, exit_code: int) -> None:
        self.exit_code = exit_code
        super().__init__(f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}")


class ChildProcess:
    """A running child, made by `start_child`."""

    def __init__(self, process: ForkServerProcess, stream: MessageStream) -> None:
        self._process = process
        self._stream = stream
        self._exit_code: int | None = None
        self._exit: asyncio.Task[int] | None = None
        self.pid = process.pid or 0

    @property
    def running(self) -> bool:
        return self._exit_code is None and self._process.exitcode is None

    async def send(self, message: bytes) -> None:
        """Send a message; waits while the child does not read.

        Raises:
            ChildEnded: the process has ended.
        """
        try:
            await self._stream.send(message)
        except OSError:
            raise await self._end() from None

    async def receive(self) -> bytes:
        """The next message.

        Raises:
            ChildEnded: there is none, or it is too large (the child is killed).
        """
        try:
            return await self._stream.receive()
        except ValueError:
            self.kill()
            raise await self._end() from None
        except (EOFError, OSError):
            raise await self._end() from None

    def kill(self) -> None:
        """End the child at once, whatever it does."""
        if self._exit_code is not None:
            return
        self._process.kill()
        if self._process.exitcode == _UNKNOWN_EXIT:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    async def stop(self) -> int:
        """Kill the child if it runs, and release what it holds here; its exit code."""
        self.kill()
        return await self._wait()

    async def _end(self) -> ChildEnded:
        """For a child whose socket has ended: it is about to exit by itself, which shows the cause."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._wait()
        return ChildEnded(await self.stop())

    async def _wait(self) -> int:
        """The exit code. One task waits for it, because a loop has one reader of a descriptor."""
        if self._exit is None:
            self._exit = asyncio.create_task(self._exited())
        return await asyncio.shield(self._exit)

    async def _exited(self) -> int:
        while self.running:
            await _readable(self._process.sentinel)
        self._exit_code = self._process.exitcode or 0
        self._process.close()
        self._stream.close()
        return self._exit_code


class BlockingMessages:
    """The messages from and to the parent, for a child without an event loop."""

    def __init__(self, parent: socket.socket) -> None:
        self._connection = Connection(parent.detach())

    def send(self, message: bytes) -> None:
        self._connection.send_bytes(message)

    def receive(self) -> bytes:
        """The next message.

        Raises:
            EOFError: the parent has ended.
        """
        return self._connection.recv_bytes()


def preload(*modules: str) -> None:
    """Let the fork server import these modules too. It starts with the first child; later calls have no effect."""
    _preloaded.update(dict.fromkeys(modules))


async def start_child(main: ChildMain, limits: ChildLimits, *, message_limit: int = MESSAGE_LIMIT) -> ChildProcess:
    """Start a child that runs `main`, which is pickled by its name. It ends at the latest when this process does."""
    ours, theirs = socket.socketpair()
    process = _FORKED.Process(target=_run, args=(main, theirs, limits), daemon=True)
    try:
        await asyncio.to_thread(_start, process, theirs)
        return ChildProcess(process, await MessageStream.open(ours, limit=message_limit))
    except BaseException:
        ours.close()
        raise


def _start(process: ForkServerProcess, theirs: socket.socket) -> None:
    """In a thread, which also ends what a cancelled caller began: a request cut off would end the fork server."""
    multiprocessing.util.spawnv_passfds = spawn_without_settings  # type: ignore[assignment] # str is its type
    _FORKED.set_forkserver_preload([_FIRST, *_preloaded])
    with theirs:
        process.start()


def _run(main: ChildMain, parent: socket.socket, limits: ChildLimits) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # sent to the whole group on Ctrl-C: the parent decides
    _die_with_parent()
    _apply(limits)
    main(parent)


def _die_with_parent() -> None:
    """Let the kernel end this process (SIGIO) when the service has ended, whatever this process does then.

    A signal of the parent's death would not do: the parent is the fork server, which lives as long as its children.
    """
    parent = multiprocessing.parent_process()
    sentinel = parent.sentinel if parent is not None else None
    if not isinstance(sentinel, int):
        return
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if wait([sentinel], timeout=0):
        os._exit(1)


def _apply(limits: ChildLimits) -> None:
    kinds = {
        resource.RLIMIT_DATA: None if limits.memory_bytes is None else data_bytes() + limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in kinds.items():
        if value is not None:
            with suppress(ValueError, OSError):  # macOS refuses some; the parent's time limit holds everywhere
                resource.setrlimit(kind, (value, value))
    os.nice(limits.niceness)


def data_bytes() -> int:
    """What RLIMIT_DATA counts of this process now; 0 where that is not known."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
