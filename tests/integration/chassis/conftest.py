"""A broker and a MongoDB of a test's own, for tests that break them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deploy.local.broker import Broker, broker
from deploy.local.mongod import Mongod, mongod
from tests.integration.chassis.broker_proxy import BrokerProxy, proxied_broker


@pytest.fixture
async def own_broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with broker(tmp_path / "broker.log") as running:
        yield running


@pytest.fixture
async def broker_proxy(tmp_path: Path) -> AsyncIterator[BrokerProxy]:
    """A broker that keeps its topics and groups while it is away."""
    async with proxied_broker(tmp_path / "broker.log") as running:
        yield running


@pytest.fixture
async def own_mongod(tmp_path: Path) -> AsyncIterator[Mongod]:
    async with mongod(tmp_path / "mongod") as running:
        yield running
