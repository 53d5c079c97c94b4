"""Following executions and listing what may be run, as the interface says."""

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, PASSING, World


async def test_lists_have_steps_only_when_asked_for(api: Api, world: World) -> None:
    app, test = await world.app(), await world.test()
    await world.attach(app, test)
    for query, steps in (("", None), ("&include_steps=true", PASSING)):
        [listed] = created(await api.get(f"/tests?app_id={app['id']}{query}"))["items"]
        assert listed == {**created(await api.get(f"/tests/{test['id']}")), "steps": steps}


async def test_forty_tests_of_half_a_megabyte_can_be_listed_and_started(api: Api, world: World) -> None:
    steps = [f'Tap "{number} {"x" * 490}"' for number in range(1000)]
    tests = [await world.test(steps) for _ in range(40)]
    assert created(await api.get("/tests?page_size=500"))["total"] >= 40
    refused = await api.get("/tests?page_size=500&include_steps=true")
    assert (refused.status, refused.body["code"]) == (422, "MESSAGE_TOO_LARGE")
    assert "smaller page_size" in str(refused.detail)
    assert len(created(await api.get("/tests?page_size=3&include_steps=true"))["items"]) == 3
    started = await world.start(await world.workflow(*tests))
    assert (await world.ended(started["id"]))["counts"]["total"] == 40


async def test_a_failing_test_shows_its_attempts_and_steps(api: Api, world: World) -> None:
    app, *_ = await world.passing_app()
    execution = await world.run(await world.workflow(await world.test(FAILING, app=app)))
    assert (execution["status"], execution["success"]) == ("completed", False)
    counts = {"total": 1, "queued": 0, "running": 0, "passed": 0, "failed": 1, "cancelled": 0, "infra_failed": 0}
    assert execution["counts"] == counts
    run = await world.only_run(execution)
    assert [attempt["number"] for attempt in run["attempts"]] == [1, 2]
    attempt = run["attempts"][-1]
    assert attempt["simulated"] is True
    assert [step["status"] for step in attempt["steps"]] == ["passed", "failed"]
    assert attempt["failure"]["step_index"] == 1
    screenshot = attempt["steps"][1]["screenshot"]
    artifact = next(artifact for artifact in attempt["artifacts"] if artifact["name"] == screenshot)
    assert (await api.download(artifact["url"]))[:8] == b"\x89PNG\r\n\x1a\n"


async def test_events_are_complete_and_can_be_resumed(api: Api, world: World) -> None:
    *_, workflow = await world.passing_app()
    started = await world.start(workflow)
    events = await api.events(started["id"])
    assert [name for _, name, _ in events].count("execution") >= 2
    statuses = [body["status"] for _, name, body in events if name == "run"]
    assert (statuses[0], statuses[-1]) == ("queued", "completed")
    assert events[-1][1:] == ("execution", created(await api.get(f"/executions/{started['id']}")))
    ids = [id_ for id_, _, _ in events]
    assert ids == sorted(set(ids))
    assert await api.events(started["id"], last_event_id=ids[1]) == events[2:]
