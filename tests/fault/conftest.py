"""Fault tests kill and stop the parts of one stack, each with an organisation of its own, and put them back."""

import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from deploy.local.stack import Stack, run_stack
from tests.e2e.client import Api
from tests.e2e.conftest import fresh_key
from tests.e2e.world import UNKNOWN, World
from tests.eventually import eventually

SHORT = {"MOBILETEST_LEASE_SECONDS": "3", "MOBILETEST_EXECUTOR_SLOTS": "4", "MOBILETEST_SHUTDOWN_GRACE_SECONDS": "2"}


def on_the_stack(test: Callable[..., Any]) -> Callable[..., Any]:
    """One process runs these tests, one after the other, in the event loop of the stack."""
    marked: Callable[..., Any] = pytest.mark.xdist_group("stack")(pytest.mark.asyncio(loop_scope="session")(test))
    return marked


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stack, alone in its parent."""
    return tmp_path_factory.mktemp("stack") / "state"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_stack(state: Path) -> AsyncIterator[Stack]:
    async with run_stack(state, workers=2, extra_env=SHORT) as stack:
        yield stack


@pytest_asyncio.fixture(loop_scope="session")
async def own_stack(shared_stack: Stack) -> AsyncIterator[Stack]:
    """A stack with two workers and short leases that this test may break, and has to put back."""
    yield shared_stack
    for part in shared_stack.parts.values():
        if part.child.running:
            part.child.send(signal.SIGCONT)
    broken = [name for name, part in shared_stack.parts.items() if not part.child.running]
    for name in broken:
        await shared_stack.start(name)
    assert not broken, "the test has left parts that do not run"


@pytest_asyncio.fixture(loop_scope="session")
async def own_api(own_stack: Stack) -> AsyncIterator[Api]:
    """The API of an organisation that only this test has."""
    async with Api(own_stack.url, await fresh_key(own_stack, "Fault")) as api:

        async def all_connected() -> bool:
            """Services that were started again are called again: by the gateway, and by the executor."""
            start = "/execution/api/execute_workflow_id_async"
            answers = (
                await api.get("/apps"),
                await api.get("/tests", params={"classification": "stable"}),
                await api.post(start, {"workflow_id": UNKNOWN}),
            )
            return all(answer.status < 500 for answer in answers)

        await eventually(all_connected)
        yield api


@pytest.fixture
def own_world(own_api: Api) -> World:
    return World(own_api)
