"""TCP ports of the loopback interface for the children."""

import asyncio
import socket
import sys

LOOPBACK = "127.0.0.1"


class Ports:
    """Ports that stay ours until this context is left, also while the child that listens on one is stopped.

    Linux lets a server with SO_REUSEADDR listen on a port that another socket only holds, and gives a held port to
    nobody who asks for any. Elsewhere a port is free when it is handed out, and that is all.
    """

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def __enter__(self) -> "Ports":
        return self

    def __exit__(self, *exc_info: object) -> None:
        for holder in self._held:
            holder.close()

    def take(self) -> int:
        """A port that nothing uses."""
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
        """The first port at or above `start` on which one can listen; any for 0 or when the next hundred are taken."""
        candidates = range(start, min(start + 100, 65536)) if start else range(0)
        return next((port for port in candidates if can_listen(port)), 0) or self.take()


def can_listen(port: int) -> bool:
    """Whether a server could listen on `port` now; connections of an earlier one that linger are no hindrance."""
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
