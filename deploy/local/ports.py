"""TCP ports of the loopback interface for child processes."""

import asyncio
import socket
import sys

LOOPBACK = "127.0.0.1"


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


async def accepts(port: int) -> bool:
    """Whether something listens on `port`."""
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    writer.close()
    return True
