"""The steps of a run are seen while it goes on."""

from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import World, paced_app_model
from tests.eventually import eventually


async def started(world: World, steps: int) -> Any:
    """The id of an execution whose only run carries out so many steps, each of which takes a second."""
    app, made = await world.app(), await world.test(["launchApp", *['I see "Log in"'] * (steps - 1)])
    created(await world.api.upload(app["id"], paced_app_model(seconds=1.0), version="1.0.0"))
    await world.attach(app, made)
    return (await world.start(await world.workflow(made)))["id"]


async def test_watchers_are_notified_of_steps(api: Api, world: World) -> None:
    execution_id = await started(world, 3)
    events = await api.events(execution_id, steps=True)
    (run,) = created(await api.get(f"/executions/{execution_id}/runs"))["items"]
    notices = [content for number, kind, content in events if (number, kind) == (0, "steps")]
    assert len(notices) > 1
    assert all(notice == {"run_ids": [run["id"]]} for notice in notices)
    assert events[-1][1] == "execution"
    assert {kind for _, kind, _ in await api.events(execution_id)} == {"run", "execution"}


async def test_a_run_under_way_has_its_steps_and_its_device(world: World) -> None:
    execution_id = await started(world, 4)
    (run,) = created(await world.api.get(f"/executions/{execution_id}/runs"))["items"]

    async def read() -> Any:
        return created(await world.api.get(f"/executions/{execution_id}/runs/{run['id']}"))

    async def read_under_way() -> Any:
        attempts = (await read())["attempts"]
        statuses = [step["status"] for step in attempts[0]["steps"]] if attempts else []
        return attempts[0] if statuses[-2:] == ["passed", "running"] else None

    attempt = await eventually(read_under_way)
    assert (attempt["status"], attempt["simulated"]) == ("running", True)
    assert attempt["device"]

    async def read_ended() -> Any:
        run = await read()
        return run if run["completed_at"] else None

    (attempt,) = (await eventually(read_ended))["attempts"]
    assert [step["status"] for step in attempt["steps"]] == ["passed"] * 4
