"""What the whole service promises when its parts are killed or stopped, seen through REST."""

import asyncio
import os
import random
from typing import Any

import pytest

from deploy.local.stack import Stack
from tests.e2e.client import Api, created
from tests.e2e.world import ENDED, FAILING, World, paced_app_model
from tests.eventually import eventually
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record
from tests.fault.recount import differences, runs_of
from tests.fault.verifying import verified

KILLS = int(os.environ.get("KILLS", "3"))
LONG = ["launchApp", *[{"assertVisible": "Log in"}] * 5]


async def paced_app(world: World) -> tuple[Any, Any, Any]:
    """An app whose simulated device takes real time, with a passing and a failing test; (app, build, workflow)."""
    app = await world.app()
    build = created(await world.api.upload(app["id"], paced_app_model(seconds=0.3), version="1.0.0"))
    tests = [await world.test(LONG) for _ in range(3)] + [await world.test(FAILING)]
    for test in tests:
        await world.attach(app, test)
    return app, build, await world.workflow(*tests)


async def all_ended(api: Api, app: Any, within: float = 60.0) -> list[Any]:
    """Wait until every run of an app has ended; the runs."""

    async def probe() -> list[Any] | None:
        runs = await runs_of(api, app)
        return runs if all(run["status"] in ENDED for run in runs) else None

    return await eventually(probe, within=within, every=0.5) or []


async def no_differences(api: Api, app: Any, runs: list[Any]) -> bool:
    wrong = await differences(api, app, runs)
    assert not wrong, "\n".join(wrong)
    return True


@on_the_stack
@pytest.mark.timeout(1800)
async def test_killed_workers_lose_and_double_nothing(own_stack: Stack, own_api: Api, own_world: World) -> None:
    """Workers are killed with SIGKILL under load; every run ends with one verdict and the reports add up."""
    app, _, workflow = await paced_app(own_world)
    chance = random.Random(1)
    started = 0
    for _ in range(KILLS):
        for _ in range(3):
            await own_world.start(workflow)
            started += 4
        await eventually(lambda: _some_run_is_running(own_api))
        await asyncio.sleep(chance.uniform(0, 1.5))  # anywhere in the runs, not only where they begin
        victim = chance.choice(["worker-1", "worker-2"])
        await own_stack.kill(victim)
        await own_stack.start(victim)
    runs = await all_ended(own_api, app, within=300)
    assert len(runs) == started
    lost = [run for run in runs if run["status"] != "completed"]
    assert all(thrice_lost(run) for run in lost), lost
    await eventually(lambda: no_differences(own_api, app, runs))
    events = [await _terminal_events(own_api, run) for run in runs]
    assert set(events) == {1}
    retried = sum(run["attempt_number"] > 1 and run["success"] is True for run in runs)
    record(
        "F01",
        "runs under which workers of the whole service were killed with SIGKILL",
        tried=started,
        survived=len(runs),
        kills=KILLS,
        passed_on_a_later_attempt=retried,
        ended_as_executor_lost_after_three_workers=len(lost),
        differences=0,
        differences_of_verify=await verified(own_stack),
    )


def thrice_lost(run: Any) -> bool:
    """Whether a run ended without a verdict because three of its workers in a row were killed, as documented."""
    return bool(run["failure"]["category"] == "executor_lost" and run["attempt_number"] >= 3)


async def _some_run_is_running(api: Api) -> bool:
    return bool(created(await api.get("/executions", params={"status": "running"}))["total"])


async def _terminal_events(api: Api, run: Any) -> int:
    """How often an execution's event log says that this run has ended."""
    events = await api.events(run["execution_id"])
    return sum(name == "run" and body["id"] == run["id"] and body["status"] in ENDED for _, name, body in events)


@on_the_stack
async def test_a_stopped_mongodb_is_503_and_recovers_without_a_restart(
    own_stack: Stack, own_api: Api, own_world: World
) -> None:
    app, _, workflow = await paced_app(own_world)
    await own_world.run(workflow)
    pids = {name: own_stack.pid_of(name) for name in own_stack.parts if name != "mongod"}
    await own_stack.stop("mongod")
    for path in (f"/apps/{app['id']}", "/apps", "/executions", f"/apps/{app['id']}/coverage"):
        answer = await own_api.get(path)
        assert answer.status == 503, (path, answer.text)
        assert int(answer.headers["Retry-After"]) >= 1
    refused = await own_api.post("/apps", {"name": "x", "platform": "iOS"})
    assert refused.status == 503
    await own_stack.start("mongod")

    async def accepted() -> Any:
        answer = await own_api.post("/execution/api/execute_workflow_id_async", {"workflow_id": workflow["id"]})
        assert answer.status in (200, 503), answer.text
        return answer.body if answer.status == 200 else None

    execution = await own_world.ended((await eventually(accepted, every=0.2))["id"])
    assert execution["status"] == "completed"
    runs = await all_ended(own_api, app)
    await eventually(lambda: no_differences(own_api, app, runs))
    assert {name: own_stack.pid_of(name) for name in pids} == pids
    record(
        "F08",
        "runs around a MongoDB that stopped and came back",
        tried=len(runs),
        survived=len(runs),
        differences=0,
        differences_of_verify=await verified(own_stack),
    )
    own_stack.check()
