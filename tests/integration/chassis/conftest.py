"""A broker that tests may break, and proxies whose servers seem to go away."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import closing

import pytest

from deploy.local.broker import Broker
from deploy.local.ports import Ports
from tests.integration.chassis.proxies import BrokerProxy


@pytest.fixture(scope="session")
def breakable_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, int]]:
    """A broker, with the port that it advertises: that of a proxy. Tests that freeze or restart it share it, so they
    leave it running and use topics of their own.
    """
    with Ports() as ports, closing(asyncio.new_event_loop()) as loop:
        port = ports.take()
        server = Broker(ports.take(), tmp_path_factory.mktemp("broker") / "broker.log", advertised_port=port)
        loop.run_until_complete(server.start())
        yield server, port
        loop.run_until_complete(server.stop())


@pytest.fixture
def broker_tls() -> ssl.SSLContext | None:
    """What the proxy of the broker demands of its clients."""
    return None


@pytest.fixture
async def broker_proxy(
    breakable_broker: tuple[Broker, int], broker_tls: ssl.SSLContext | None
) -> AsyncIterator[BrokerProxy]:
    """The running proxy of a broker that keeps its topics and groups while it is away."""
    broker, port = breakable_broker
    proxy = BrokerProxy(port, broker, broker_tls)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
