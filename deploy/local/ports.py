"""Free TCP ports of the loopback interface."""

import asyncio
import random
import socket

LOOPBACK = "127.0.0.1"
# Below the range from which systems take the ports of outgoing connections, so that none of those is in the way.
_LISTENING = range(20000, 32000)


def free_port() -> int:
    """A port that nothing listens on now. Another process may take it before it is used; callers bind soon."""
    candidates = random.sample(_LISTENING, 200)
    return next(port for port in candidates if is_free(port))


def free_ports(count: int) -> list[int]:
    """So many different free ports."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return list(ports)


def is_free(port: int) -> bool:
    """Whether `port` can be bound on the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def preferred(port: int | None) -> int:
    """`port` if it is given and free, else any free one."""
    return port if port and is_free(port) else free_port()


def next_free(start: int) -> int:
    """The first free port at or above `start`; any free one for 0 or when the next hundred are taken."""
    candidates = range(start, min(start + 100, 65536)) if start else range(0)
    return next((port for port in candidates if is_free(port)), 0) or free_port()


async def accepts(port: int) -> bool:
    """Whether something listens on `port`."""
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return False
    writer.close()
    return True
