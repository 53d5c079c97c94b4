"""The queue and the workers over REST: what waits and why, and devices without a word about other organisations."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.e2e.client import Api, created
from tests.e2e.test_limits import new_organisation
from tests.e2e.world import World
from tests.eventually import eventually
from tests.shared_infrastructure import SharedStack


@asynccontextmanager
async def busy_world(stack: SharedStack) -> AsyncIterator[World]:
    """An organisation that may have one run at a time, and has it. All that was started is cancelled at the end."""
    async with Api(stack.url, await new_organisation(stack, concurrent_runs=1)) as api:
        world = World(api)
        running = await world.start(await world.slow_workflow(minutes=5))
        await eventually(lambda: world.stands(running["id"], "running"))
        yield world
        await cancel_all(api)


async def cancel_all(api: Api) -> None:
    """Cancel what waits and what runs, so that it needs no device any more."""
    for status in ("queued", "running"):
        for execution in created(await api.get("/executions", params={"status": status}))["items"]:
            await api.post(f"/executions/{execution['id']}/cancel", {})


@pytest.fixture
async def busy(stack: SharedStack) -> AsyncIterator[World]:
    async with busy_world(stack) as world:
        yield world


async def queue(api: Api, **params: int) -> Any:
    return created(await api.get("/queue", params=params))


async def start_several(world: World, number: int, priority: int = 0, **fields: Any) -> str:
    """The id of an execution of so many tests."""
    app = await world.app()
    await world.build(app, "1.0.0")
    tests = [await world.test() for _ in range(number)]
    for test in tests:
        await world.attach(app, test)
    return str((await world.start(await world.workflow(*tests, **fields), priority=priority))["id"])


async def test_waiting_runs_are_listed_in_their_order_with_the_reason(busy: World, foreign: Api) -> None:
    first = await start_several(busy, 2)
    urgent = await start_several(busy, 3, priority=5, max_parallel=1)
    shown = await queue(busy.api)
    assert [run["execution_id"] for run in shown["items"]] == [urgent, first, first]
    assert [run["ahead"] for run in shown["items"]] == [0, 1, 2]
    assert {run["reason"] for run in shown["items"]} == {"run_limit"}
    assert "(concurrent_runs) is 1" in shown["items"][0]["message"]
    assert (shown["total"], shown["held_back"], shown["running"]) == (3, 2, 1)
    assert (await queue(busy.api, page=2, page_size=2))["items"] == shown["items"][2:]
    assert (await queue(foreign))["total"] == 0
    await cancel_all(busy.api)
    assert (await queue(busy.api))["total"] == 0


async def test_workers_and_their_devices_are_shown(busy: World, api: Api) -> None:
    """Which device is in use, but not whose run uses it."""

    async def shown() -> Any:
        """An answer with a worker that has a run on a device: the list of the workers is some seconds old."""
        page = created(await api.get("/workers"))
        for worker in page["items"]:
            states = [device["state"] for pool in worker["pools"] for device in pool["devices"]]
            if worker["running"] and "busy" in states:
                return page, worker
        return None

    page, worker = await eventually(shown)
    assert (worker["state"], worker["slots"] >= worker["running"]) == ("active", True)
    assert {(pool["platform"], pool["simulated"]) for pool in worker["pools"]} == {("Android", True), ("iOS", True)}
    key = created(await busy.api.get("/settings/api-keys/current"))
    text = json.dumps(page)
    assert (key["org_id"] in text, key["id"] in text) == (False, False)
