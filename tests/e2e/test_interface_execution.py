"""The interface document's execution endpoints: start a workflow, execute a test."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.client import Api, created
from tests.e2e.shapes import START, assert_shape
from tests.e2e.world import UNKNOWN, World

START_PATH = "/execution/api/execute_workflow_id_async"

ONCE = {"execution_mode": {"retries": 0}}


class TestStartWorkflow:
    @pytest.mark.parametrize("slash", ["", "/"])
    async def test_answers_200_with_the_id_and_its_alias(self, api: Api, world: World, slash: str) -> None:
        *_, workflow = await world.passing_app()
        answer = await api.post(START_PATH + slash, {"workflow_id": workflow["id"]})
        assert answer.status == 200
        assert_shape(answer.body, START)
        assert (answer.body["status"], answer.body["task_id"]) == ("queued", answer.body["id"])
        assert (await world.ended(answer.body["id"]))["success"] is True

    async def test_all_ci_headers_reach_the_execution(self, api: Api, world: World) -> None:
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
        }
        execution = created(await api.get(f"/executions/{(await world.start(workflow, headers))['id']}"))
        assert execution["service_client"] == "pipeline"
        assert execution["source"] == "ci"
        assert execution["ci"] == {
            "system": "gitlab",
            "commit_sha": "0123abc",
            "branch": "feature/x",
            "pr_number": 42,
            "run_url": "https://ci.example/1",
            "run_id": "r-1",
            "repository": "team/app",
        }

    async def test_a_ci_run_url_that_is_no_link_is_named(self, api: Api, world: World) -> None:
        headers = {"X-CI-Run-URL": "javascript:alert(1)"}
        *_, workflow = await world.passing_app()
        answer = await api.post(START_PATH, {"workflow_id": workflow["id"]}, headers=headers)
        assert answer.status == 422
        [problem] = answer.body["detail"]
        assert problem["loc"] == ["header", "x-ci-run-url"]
        assert "http or https URL" in problem["msg"]

    @pytest.mark.parametrize(
        ("headers", "source"),
        [
            ({}, "api"),
            ({"X-CI-Branch": "main"}, "ci"),
            ({"X-Service-Client": "cli"}, "cli"),
            ({"X-Service-Client": "ui"}, "ui"),
        ],
    )
    async def test_the_source_is_told_by_the_headers(
        self, api: Api, world: World, headers: dict[str, str], source: str
    ) -> None:
        *_, workflow = await world.passing_app()
        started = await world.start(workflow, headers)
        assert created(await api.get(f"/executions/{started['id']}"))["source"] == source

    async def test_an_empty_header_is_as_good_as_none(self, api: Api, world: World) -> None:
        *_, workflow = await world.passing_app()
        started = await world.start(workflow, {"X-CI-PR-Number": "", "X-CI-Branch": ""})
        assert created(await api.get(f"/executions/{started['id']}"))["ci"]["pr_number"] is None

    @pytest.mark.parametrize("number", ["x", "1.5", "99999999999"])
    async def test_a_pull_request_number_is_an_integer(self, api: Api, world: World, number: str) -> None:
        *_, workflow = await world.passing_app()
        answer = await api.post(START_PATH, {"workflow_id": workflow["id"]}, headers={"X-CI-PR-Number": number})
        assert answer.status == 422
        assert answer.locations() == [["header", "x-ci-pr-number"]]

    async def test_needs_a_workflow_id(self, api: Api) -> None:
        answer = await api.post(START_PATH, {})
        assert answer.status == 422
        assert answer.detail == [{"loc": ["body", "workflow_id"], "msg": "Field required", "type": "missing"}]

    @pytest.mark.parametrize("workflow_id", ["x", "", None, 5, {"$gt": ""}])
    async def test_a_workflow_id_is_a_uuid(self, api: Api, workflow_id: object) -> None:
        answer = await api.post(START_PATH, {"workflow_id": workflow_id})
        assert answer.status == 422
        assert answer.locations() == [["body", "workflow_id"]]

    async def test_a_foreign_workflow_looks_like_an_unknown_one(self, foreign: Api, world: World) -> None:
        *_, workflow = await world.passing_app()
        answers = [await foreign.post(START_PATH, {"workflow_id": id_}) for id_ in (workflow["id"], UNKNOWN)]
        assert [(answer.status, answer.detail) for answer in answers] == [(404, "Workflow not found")] * 2

    async def test_the_whole_run_configuration_is_taken(self, api: Api, world: World) -> None:
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
        }
        execution = await world.run(workflow, run_config=config)
        assert execution["run_config"] == config
        assert execution["success"] is True

    @pytest.mark.parametrize(
        ("config", "field"),
        [
            ({"execution_mode": {"retries": -1}}, ["execution_mode", "retries"]),
            ({"execution_mode": {"retries": 6}}, ["execution_mode", "retries"]),
            ({"execution_mode": {"reflection_retries": 6}}, ["execution_mode", "reflection_retries"]),
            ({"execution_mode": {"retries": "1"}}, ["execution_mode", "retries"]),
            ({"execution_mode": {"grounder_type": "magic"}}, ["execution_mode", "grounder_type"]),
            ({"execution_mode": {"human_in_the_loop": "yes"}}, ["execution_mode", "human_in_the_loop"]),
            ({"cache_retry_mode": "always"}, ["cache_retry_mode"]),
            ({"fallback_trigger": "sometimes"}, ["fallback_trigger"]),
            ({"llm_config": {"primary_model": 5}}, ["llm_config", "primary_model"]),
            ({"disable_grid": 1}, ["disable_grid"]),
            ({"run_id": 7}, ["run_id"]),
        ],
    )
    async def test_a_wrong_run_configuration_is_refused(
        self, api: Api, world: World, config: Any, field: list[str]
    ) -> None:
        *_, workflow = await world.passing_app()
        answer = await api.post(START_PATH, {"workflow_id": workflow["id"], "run_config": config})
        assert answer.status == 422
        assert answer.locations() == [["body", "run_config", *field]]

    async def test_build_config_chooses_the_build(self, api: Api, world: World) -> None:
        app, older, test, workflow = await world.passing_app("1.0.0")
        await world.build(app, "2.0.0")
        config = {"android_build": {"app_id": app["id"], "pinned_version": "1.0.0"}}
        assert await versions(api, await world.start(workflow, build_config=config)) == ["1.0.0"]
        assert await versions(api, await world.start(workflow)) == ["2.0.0"]
        assert older["version"] == "1.0.0"
        assert test["version_number"] == 1

    async def test_override_build_config_is_false_by_default_and_wins_over_a_pin_when_true(
        self, api: Api, world: World
    ) -> None:
        app, _, test, workflow = await world.passing_app("1.0.0")
        await world.build(app, "2.0.0")
        await world.attach(app, test, "1.0.0")
        config = {"android_build": {"app_id": app["id"], "pinned_version": "2.0.0"}}
        assert await versions(api, await world.start(workflow, build_config=config)) == ["1.0.0"]
        overriding = await world.start(workflow, build_config=config, override_build_config=True)
        assert await versions(api, overriding) == ["2.0.0"]

    async def test_an_unknown_app_or_version_in_build_config_is_refused(
        self, api: Api, foreign: Api, world: World
    ) -> None:
        app, *_, workflow = await world.passing_app("1.0.0")
        strange = await World(foreign).app()
        for build, field in (
            ({"app_id": UNKNOWN}, "app_id"),
            ({"app_id": strange["id"]}, "app_id"),
            ({"app_id": app["id"], "pinned_version": "9"}, "pinned_version"),
        ):
            answer = await api.post(
                START_PATH, {"workflow_id": workflow["id"], "build_config": {"android_build": build}}
            )
            assert answer.status == 422
            assert answer.locations() == [["body", "build_config", "android_build", field]]

    async def test_a_workflow_without_tests_is_refused(self, api: Api, world: World) -> None:
        workflow = await world.workflow()
        answer = await api.post(START_PATH, {"workflow_id": workflow["id"]})
        assert answer.status == 422
        assert answer.locations() == [["body", "workflow_id"]]

    async def test_a_stored_pin_without_a_build_fails_that_run_and_says_what_to_do(
        self, api: Api, world: World
    ) -> None:
        app, _, test, workflow = await world.passing_app()
        await world.attach(app, test, "9.9.9")
        execution = await world.run(workflow)
        assert (execution["status"], execution["success"], execution["counts"]["infra_failed"]) == ("failed", None, 1)
        run = created(await api.get(f"/executions/{execution['id']}/runs"))["items"][0]
        assert (run["status"], run["failure"]["category"]) == ("failed", "config_invalid")
        assert "9.9.9" in run["failure"]["message"]

    async def test_the_same_idempotency_key_starts_one_execution(self, api: Api, world: World) -> None:
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


async def versions(api: Api, started: Any) -> list[str]:
    """The build versions that the runs of an execution were resolved to."""
    page = created(await api.get(f"/executions/{started['id']}/runs"))
    return [run["resolved_build_version"] for run in page["items"]]


class TestExecuteTest:
    async def test_starts_one_test(self, api: Api, world: World) -> None:
        app, _, test, _ = await world.passing_app("1.0.0")
        answer = await api.post("/tests/execute", {"test_id": test["id"]}, headers={"Content-Type": "application/json"})
        assert answer.status == 200
        assert_shape(answer.body, START)
        execution = await world.ended(answer.body["id"])
        assert (execution["kind"], execution["success"], execution["workflow_id"]) == ("test", True, None)
        assert app["platform"] == "Android"

    async def test_needs_a_test_id(self, api: Api) -> None:
        assert (await api.post("/tests/execute", {})).locations() == [["body", "test_id"]]

    async def test_a_foreign_test_looks_like_an_unknown_one(self, foreign: Api, world: World) -> None:
        test = await world.test()
        answers = [await foreign.post("/tests/execute", {"test_id": id_}) for id_ in (test["id"], UNKNOWN)]
        assert [(answer.status, answer.detail) for answer in answers] == [(404, "Test not found")] * 2
