"""Ports: held for their child, given to nobody else, and the next one when the wanted one is taken."""

import socket
import sys

import pytest

from deploy.local.ports import LOOPBACK, Ports, accepts, can_listen


def listener(port: int = 0) -> socket.socket:
    return socket.create_server((LOOPBACK, port))


async def test_a_taken_port_can_be_listened_on() -> None:
    with Ports() as ports:
        port = ports.take()
        assert not await accepts(port)
        with listener(port):
            assert await accepts(port)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a port be held for another process")
def test_a_taken_port_is_given_to_nobody_else_until_it_is_let_go() -> None:
    with Ports() as ports, socket.socket() as other:
        port = ports.take()
        with pytest.raises(OSError, match="in use"):
            other.bind((LOOPBACK, port))
    with socket.socket() as other:
        other.bind((LOOPBACK, port))


def test_the_wanted_port_is_used_if_it_is_free_and_the_next_one_if_not() -> None:
    with Ports() as ports, listener() as busy:
        port = busy.getsockname()[1]
        assert not can_listen(port)
        assert port < ports.first_from(port) <= port + 100


def test_any_port_will_do_for_zero() -> None:
    with Ports() as ports:
        assert can_listen(ports.first_from(0))
