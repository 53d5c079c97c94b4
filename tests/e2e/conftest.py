"""End-to-end fixtures: each test works through REST in an organisation of its own."""

from collections.abc import AsyncIterator

import pytest

from tests.e2e.client import Api
from tests.e2e.world import World
from tests.keeper import SharedStack


@pytest.fixture
async def api(stack: SharedStack) -> AsyncIterator[Api]:
    """A client of a fresh organisation, with every scope."""
    async with Api(stack.url, stack.new_organisation().api_key) as api:
        yield api


@pytest.fixture
async def foreign(stack: SharedStack) -> AsyncIterator[Api]:
    """A client of another organisation."""
    async with Api(stack.url, stack.new_organisation("Foreign").api_key) as api:
        yield api


@pytest.fixture
async def anonymous(stack: SharedStack) -> AsyncIterator[Api]:
    """A client without a key."""
    async with Api(stack.url, None) as api:
        yield api


@pytest.fixture
def world(api: Api) -> World:
    """Makes apps, builds, tests and workflows in the organisation of `api`."""
    return World(api)
