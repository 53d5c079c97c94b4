"""Ports: held for their child, not given out twice, and the next free one when the wanted one is taken."""

import os
import re
import socket
import sys
from pathlib import Path

import pytest

from deploy.local.ports import LOOPBACK, Ports, PortTaken, accepts, can_listen


def listener(port: int = 0) -> socket.socket:
    return socket.create_server((LOOPBACK, port))


async def test_a_server_can_listen_on_a_reserved_port() -> None:
    with Ports() as ports:
        port = ports.take()
        assert not await accepts(port)
        with listener(port):
            assert await accepts(port)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a port be held for another process")
def test_a_reserved_port_is_not_assigned_to_others() -> None:
    with Ports() as ports, socket.socket() as other:
        port = ports.take()
        with pytest.raises(OSError, match="in use"):
            other.bind((LOOPBACK, port))
    with socket.socket() as other:
        other.bind((LOOPBACK, port))


def test_the_next_port_is_used_when_the_requested_one_is_in_use() -> None:
    with Ports() as ports, listener() as busy:
        port = busy.getsockname()[1]
        assert not can_listen(port)
        assert port < ports.first_from(port) <= port + 100


def test_zero_means_any_port() -> None:
    with Ports() as ports:
        assert can_listen(ports.first_from(0))
        assert can_listen(ports.exactly(0))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who listens")
def test_a_port_that_is_in_use_names_its_user() -> None:
    with Ports() as ports, listener() as busy:
        port = busy.getsockname()[1]
        name = Path("/proc/self/comm").read_text().strip()
        with pytest.raises(PortTaken, match=rf"port {port} is in use by {re.escape(name)} \(pid {os.getpid()}\)"):
            ports.exactly(port)
    with Ports() as ports:
        assert ports.exactly(port) == port
