"""The interface document's execution endpoints: start a workflow, execute a test."""

import asyncio
from typing import Any
from uuid import uuid4

from tests.e2e.client import Api, created
from tests.e2e.shapes import assert_shape
from tests.e2e.world import World

START_PATH = "/execution/api/execute_workflow_id_async"


async def test_a_start_answers_200_with_the_id_and_its_alias(api: Api, world: World) -> None:
    *_, workflow = await world.passing_app()
    answer = await api.post(f"{START_PATH}/", {"workflow_id": workflow["id"]})
    assert answer.status == 200
    assert_shape(answer.body, "Start")
    assert (answer.body["status"], answer.body["task_id"]) == ("queued", answer.body["id"])
    assert (await world.ended(answer.body["id"]))["success"] is True


async def test_all_ci_headers_reach_the_execution(api: Api, world: World) -> None:
    *_, workflow = await world.passing_app()
    headers = {
        "X-Service-Client": "pipeline",
        "X-CI-System": "gitlab",
        "X-CI-Commit-SHA": "0123abc",
        "X-CI-Branch": "feature/x",
        "X-CI-PR-Number": "42",
        "X-CI-Run-URL": "https://ci.example/1",
        "X-CI-Run-ID": "r-1",
        "X-CI-Repository": "team/app",
        "X-CI-Base-Branch": "develop",
    }
    execution = created(await api.get(f"/executions/{(await world.start(workflow, headers))['id']}"))
    assert (execution["service_client"], execution["source"]) == ("pipeline", "ci")
    assert execution["ci"] == {
        "system": "gitlab",
        "commit_sha": "0123abc",
        "branch": "feature/x",
        "pr_number": 42,
        "run_url": "https://ci.example/1",
        "run_id": "r-1",
        "repository": "team/app",
        "base_branch": "develop",
    }


async def test_the_whole_run_configuration_is_taken(world: World) -> None:
    *_, workflow = await world.passing_app()
    config = {
        "llm_config": {"primary_model": "a", "reflection_model": "b", "planning_model": "c"},
        "execution_mode": {
            "human_in_the_loop": False,
            "enable_reflection": False,
            "enable_planning": False,
            "retries": 2,
            "reflection_retries": 1,
            "skip_app_install": True,
            "grounder_type": "accessibility",
        },
        "run_id": "nightly-1",
        "cache_retry_mode": "none",
        "fallback_trigger": "never",
        "disable_grid": True,
        "screens": "failed",
        "dismiss_dialogs": {"permission": True, "other_app_crash": False, "other_app_not_responding": None},
    }
    execution = await world.run(workflow, run_config=config)
    assert (execution["run_config"], execution["success"]) == (config, True)


async def test_override_build_config_is_false_by_default_and_wins_over_a_pin_when_true(api: Api, world: World) -> None:
    app, _, test, workflow = await world.passing_app("1.0.0")
    await world.build(app, "2.0.0")
    await world.attach(app, test, "1.0.0")
    config = {"android_build": {"app_id": app["id"], "pinned_version": "2.0.0"}}
    for override, version in (({}, "1.0.0"), ({"override_build_config": True}, "2.0.0")):
        started = await world.start(workflow, build_config=config, **override)
        [run] = created(await api.get(f"/executions/{started['id']}/runs"))["items"]
        assert run["resolved_build_version"] == version


async def test_a_build_config_of_one_platform_restricts_the_start_to_it(api: Api, world: World) -> None:
    """Tests of the other platform are left out, and the execution says so, now and after its end."""
    android, _, everywhere, _ = await world.passing_app("1.0.0")
    ios = await world.app("iOS")
    await world.build(ios, "1.0.0")
    await world.attach(ios, everywhere)
    elsewhere = await world.test(app=ios, platform="iOS")
    config = {"android_build": {"app_id": android["id"]}}
    started = await world.start(await world.workflow(everywhere, elsewhere), build_config=config)
    assert "1 test is for iOS only and left out" in started["message"]
    execution = await world.ended(started["id"])
    assert (execution["success"], execution["counts"]["total"]) == (True, 1)
    assert "1 test is for iOS only and left out" in execution["message"]
    assert (await world.only_run(execution))["app_id"] == android["id"]
    both = {**config, "ios_build": {"app_id": ios["id"]}}
    for requested, runs in ((config, 1), (both, 2)):
        answer = created(await api.post("/tests/execute", {"test_id": everywhere["id"], "build_config": requested}))
        assert (await world.ended(answer["id"]))["counts"]["total"] == runs
    refused = await api.post("/tests/execute", {"test_id": elsewhere["id"], "build_config": config})
    assert (refused.status, refused.locations()) == (422, [["body", "build_config"]])


async def test_the_same_idempotency_key_starts_one_execution(api: Api, world: World) -> None:
    *_, workflow = await world.passing_app()
    headers = {"Idempotency-Key": str(uuid4())}
    body = {"workflow_id": workflow["id"]}

    async def start() -> Any:
        answer = await api.post(START_PATH, body, headers=headers)
        return answer if answer.status != 503 else await start()

    answers = await asyncio.gather(*(start() for _ in range(10)))
    assert {answer.body["id"] for answer in answers} == {answers[0].body["id"]}
    again = await start()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert created(await api.get("/executions"))["total"] == 1
    other = await api.post(START_PATH, body | {"override_build_config": True}, headers=headers)
    assert other.status == 409


async def test_one_test_is_executed(api: Api, world: World) -> None:
    _, _, test, _ = await world.passing_app("1.0.0")
    answer = await api.post("/tests/execute", {"test_id": test["id"]})
    assert answer.status == 200
    assert_shape(answer.body, "Start")
    execution = await world.ended(answer.body["id"])
    assert (execution["kind"], execution["success"], execution["workflow_id"]) == ("test", True, None)
