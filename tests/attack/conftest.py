"""Attacks run against a stack of their own, on which one organisation after the other attacks, and another works."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from deploy.local.stack import Stack, run_stack
from tests.attack.victim import SECONDS, Bench, Victim
from tests.e2e.client import Api
from tests.e2e.conftest import fresh_key
from tests.e2e.world import World


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A stack with one worker and the limits that production has by default."""
    async with run_stack(tmp_path_factory.mktemp("attacked"), workers=1) as stack:
        yield stack


async def _api(stack: Stack, name: str, closing: AsyncExitStack) -> Api:
    return await closing.enter_async_context(Api(stack.url, await fresh_key(stack, name)))


@pytest_asyncio.fixture(loop_scope="module")
async def attacker(attacked: Stack) -> AsyncIterator[World]:
    async with AsyncExitStack() as closing:
        yield World(await _api(attacked, "Attacker", closing))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(attacked: Stack) -> AsyncIterator[Bench]:
    """A victim, and what it measures before all attacks."""
    async with AsyncExitStack() as closing:
        victim = await Victim.prepare(World(await _api(attacked, "Victim", closing)))
        yield await victim.measure(SECONDS), victim
