"""F40: executions are cancelled in every state, several times at once, under load. One end each, devices free after."""

import asyncio
import os
import random
from collections import Counter
from typing import Any

import pytest

from deploy.local.stack import Stack
from tests.e2e.client import Api, created
from tests.e2e.world import ENDED, PASSING, World, paced_app_model
from tests.eventually import eventually
from tests.fault.conftest import on_the_stack
from tests.fault.counting import record
from tests.fault.recount import differences, runs_of
from tests.fault.verifying import verified

EXECUTIONS = int(os.environ.get("CANCELS", "24"))
SLOTS = 8
RUNS = 4
# Each execution is cancelled when so many of its runs have ended; None is at once.
MOMENTS = (0, None, 1, 0, 2, 3, RUNS)


async def paced_workflow(world: World) -> tuple[Any, Any]:
    """An app whose runs take about a second, `RUNS` to an execution; (app, workflow)."""
    app = await world.app()
    created(await world.api.upload(app["id"], paced_app_model(seconds=0.25), version="1.0.0"))
    tests = [await world.test([*PASSING, *PASSING]) for _ in range(RUNS)]
    for test in tests:
        await world.attach(app, test)
    return app, await world.workflow(*tests)


async def cancel(
    api: Api, execution_id: str, ended_runs: int | None, later: float, times: int
) -> tuple[str, list[int]]:
    """Cancel some times at once; the status just before, and the answers' codes.

    So many seconds after so many of its runs have ended; None is at once, while it is queued or has just begun.
    """
    if ended_runs is not None:
        await eventually(lambda: _has_come_to(api, execution_id, ended_runs), within=120, every=0.1)
        await asyncio.sleep(later)
    before = created(await api.get(f"/executions/{execution_id}"))["status"]
    answers = await asyncio.gather(*(api.post(f"/executions/{execution_id}/cancel") for _ in range(times)))
    return before, [answer.status for answer in answers]


async def _has_come_to(api: Api, execution_id: str, ended_runs: int) -> bool:
    execution = created(await api.get(f"/executions/{execution_id}"))
    counts = execution["counts"]
    open_runs = counts["queued"] + counts["running"]
    return bool(execution["status"] != "queued" and counts["total"] - open_runs >= ended_runs)


async def count_end_events(api: Api, execution_id: str) -> Counter[str]:
    """How often the event log says of each run, and of the execution, that it has ended."""
    events = await api.events(execution_id)
    return Counter(body["id"] for _, name, body in events if body.get("status") in ENDED)


@on_the_stack
@pytest.mark.timeout(1800)
async def test_cancels_at_any_time_leave_one_end_and_free_devices(
    own_stack: Stack, own_api: Api, own_world: World
) -> None:
    chance = random.Random(40)
    app, workflow = await paced_workflow(own_world)
    started = [(await own_world.start(workflow))["id"] for _ in range(EXECUTIONS)]
    asked = await asyncio.gather(
        *(
            cancel(own_api, id_, MOMENTS[index % len(MOMENTS)], chance.uniform(0, 0.5), chance.choice([1, 1, 2, 5]))
            for index, id_ in enumerate(started)
        )
    )
    states = Counter(before for before, _ in asked)
    for before, codes in asked:
        assert set(codes) <= {200, 202, 409}, codes
        assert set(codes) == {409} or before not in ENDED
    ended = [await own_world.ended(id_) for id_ in started]
    runs = await runs_of(own_api, app)
    assert len(runs) == RUNS * EXECUTIONS
    assert all(run["status"] in ENDED for run in runs)
    published = [await count_end_events(own_api, id_) for id_ in started]
    once = sum(set(counts.values()) == {1} and len(counts) == RUNS + 1 for counts in published)
    assert once == EXECUTIONS
    for execution in ended:
        assert execution["status"] in ("cancelled", "completed")
        again = await own_api.post(f"/executions/{execution['id']}/cancel")
        assert again.status == 409
    assert {execution["status"] for execution in ended} == {"cancelled", "completed"}

    async def adds_up() -> bool:
        wrong = await differences(own_api, app, runs)
        assert not wrong, "\n".join(wrong)
        return True

    await eventually(adds_up)
    await _every_slot_is_free(own_world, own_api)
    own_stack.check()
    record(
        "F40",
        "executions cancelled at a random time, once to five times at once",
        tried=EXECUTIONS,
        survived=once,
        cancelled_while=dict(states),
        ended=dict(Counter(execution["status"] for execution in ended)),
        differences=0,
        differences_of_verify=await verified(own_stack),
    )


async def _every_slot_is_free(world: World, api: Api) -> None:
    """As many runs as there are slots run at the same time, and are cancelled again."""
    app = await world.app()
    created(await world.api.upload(app["id"], paced_app_model(seconds=10), version="1.0.0"))
    tests = [await world.test([*PASSING, *PASSING]) for _ in range(SLOTS)]
    for test in tests:
        await world.attach(app, test)
    execution = await world.start(await world.workflow(*tests))

    async def all_at_once() -> bool:
        shown = created(await api.get(f"/executions/{execution['id']}"))
        return bool(shown["counts"]["running"] == SLOTS)

    await eventually(all_at_once, every=0.05)
    await api.post(f"/executions/{execution['id']}/cancel")
    assert (await world.ended(execution["id"]))["status"] == "cancelled"
