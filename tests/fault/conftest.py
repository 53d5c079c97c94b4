"""Fault tests kill and stop real processes, of a stack that they do not share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deploy.local.stack import Stack, run_stack
from tests.e2e.client import Api
from tests.e2e.world import World

SHORT = {"MOBILETEST_LEASE_SECONDS": "3", "MOBILETEST_EXECUTOR_SLOTS": "4", "MOBILETEST_SHUTDOWN_GRACE_SECONDS": "2"}


@pytest.fixture
async def own_stack(tmp_path: Path) -> AsyncIterator[Stack]:
    """A stack with two workers and short leases that this test may break."""
    async with run_stack(tmp_path / "state", workers=2, extra_env=SHORT) as stack:
        yield stack


@pytest.fixture
async def own_api(own_stack: Stack) -> AsyncIterator[Api]:
    async with Api(own_stack.url, own_stack.api_key) as api:
        yield api


@pytest.fixture
def own_world(own_api: Api) -> World:
    return World(own_api)
