"""TCP ports of the loopback interface for child processes."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
# The state of a socket that listens, in /proc/net/tcp.
_LISTENS = "0A"


class PortTaken(Exception):
    """The port that was asked for is in use; the message says who uses it."""


class Ports:
    """Ports that are reserved inside the block, even while the child that listens on one is stopped.

    A bound socket reserves a port: on Linux a server with SO_REUSEADDR can still listen on it, and the system assigns
    it to nobody else. On other systems a port is only free at the time when it is taken.
    """

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def __enter__(self) -> "Ports":
        return self

    def __exit__(self, *exc_info: object) -> None:
        for holder in self._held:
            holder.close()

    def take(self) -> int:
        """A free port."""
        holder = socket.socket()
        holder.bind((LOOPBACK, 0))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port: int = holder.getsockname()[1]
        if sys.platform == "linux":
            self._held.append(holder)
        else:
            holder.close()
        return port

    def first_from(self, start: int) -> int:
        """The first free port from `start` on; any free port for 0, or if the next hundred are in use."""
        candidates = range(start, min(start + 100, 65536)) if start else range(0)
        return next((port for port in candidates if can_listen(port)), 0) or self.take()

    def exactly(self, port: int) -> int:
        """This port, or any free one for 0.

        Raises:
            PortTaken: another process has the port.
        """
        if port and not can_listen(port):
            raise PortTaken(f"port {port} is in use by {listener(port)}")
        return port or self.take()


def can_listen(port: int) -> bool:
    """Whether a server can listen on `port` now, even with lingering connections of an earlier one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen()
        except OSError:
            return False
        return True


def listener(port: int) -> str:
    """Who listens on the port, for people; only Linux says it, and only of processes that this user may look at."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(os.readlink(entry.path) in sockets for entry in os.scandir(process / "fd")):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return "another process"


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (Path("/proc/net") / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


async def accepts(port: int) -> bool:
    """Whether something listens on `port`."""
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    writer.close()
    return True
