"""The interface document's execution endpoints: start a workflow, execute a test; and how executions are followed."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.client import Api, created
from tests.e2e.shapes import START, assert_shape
from tests.e2e.world import FAILING, PASSING, UNKNOWN, World
from tests.eventually import eventually

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


class TestListTests:
    async def test_lists_newest_first_with_filters(self, api: Api, world: World) -> None:
        app = await world.app()
        first = await world.test(name="Log in", tags=["smoke"], platform="Android")
        second = await world.test(name="Check out (fast)", tags=["slow"])
        await world.attach(app, first)

        async def listed(**params: str) -> list[str]:
            page = created(await api.get("/tests", params=params))
            assert page["total"] == len(page["items"])
            return [test["id"] for test in page["items"]]

        assert await listed() == [second["id"], first["id"]]
        assert await listed(search="LOG") == [first["id"]]
        assert await listed(search="(fast)") == [second["id"]]
        assert await listed(tag="smoke") == [first["id"]]
        assert await listed(app_id=app["id"]) == [first["id"]]
        assert await listed(platform="iOS") == [second["id"]]
        shown = created(await api.get(f"/tests/{first['id']}"))
        assert shown["attachments"] == [{"app_id": app["id"], "app_name": app["name"], "pinned_version": None}]

    async def test_an_edit_of_the_steps_makes_a_version(self, api: Api, world: World) -> None:
        test = await world.test()
        edited = created(await api.patch(f"/tests/{test['id']}", {"steps": FAILING}))
        assert (test["version_number"], edited["version_number"]) == (1, 2)
        versions = created(await api.get(f"/tests/{test['id']}/versions?include_steps=true"))["items"]
        assert [(v["version_number"], v["steps"]) for v in versions] == [(2, FAILING), (1, PASSING)]
        without = created(await api.get(f"/tests/{test['id']}/versions"))["items"]
        assert [v["steps"] for v in without] == [None, None]

    async def test_lists_have_steps_only_when_asked_for(self, api: Api, world: World) -> None:
        app, test = await world.app(), await world.test()
        await world.attach(app, test)
        for query, steps in (("", None), ("&include_steps=true", PASSING)):
            [listed] = created(await api.get(f"/tests?app_id={app['id']}{query}"))["items"]
            assert listed == {**created(await api.get(f"/tests/{test['id']}")), "steps": steps}

    async def test_forty_tests_of_half_a_megabyte_can_be_listed_and_started(self, api: Api, world: World) -> None:
        steps = [f'Tap "{number} {"x" * 490}"' for number in range(1000)]
        tests = [await world.test(steps) for _ in range(40)]
        assert created(await api.get("/tests?page_size=500"))["total"] >= 40
        refused = await api.get("/tests?page_size=500&include_steps=true")
        assert (refused.status, refused.body["code"]) == (422, "MESSAGE_TOO_LARGE")
        assert "smaller page_size" in str(refused.detail)
        assert len(created(await api.get("/tests?page_size=3&include_steps=true"))["items"]) == 3
        started = await world.start(await world.workflow(*tests))
        assert (await world.ended(started["id"]))["counts"]["total"] == 40

    async def test_an_unknown_command_is_refused_with_its_place_and_the_nearest_one(self, api: Api) -> None:
        answer = await api.post("/tests", {"name": "T", "steps": ["launchApp", {"tapOm": "Log in"}]})
        assert answer.status == 422
        assert answer.detail[0]["loc"][:3] == ["body", "steps", 1]
        assert "tapOn" in answer.detail[0]["msg"]


class TestFollow:
    async def test_a_failing_test_shows_its_attempts_and_steps(self, api: Api, world: World) -> None:
        app, *_ = await world.passing_app()
        failing = await world.test(FAILING)
        await world.attach(app, failing)
        execution = await world.run(await world.workflow(failing))
        assert (execution["status"], execution["success"]) == ("completed", False)
        counts = {"total": 1, "queued": 0, "running": 0, "passed": 0, "failed": 1, "cancelled": 0, "infra_failed": 0}
        assert execution["counts"] == counts
        listed = created(await api.get(f"/executions/{execution['id']}/runs"))["items"][0]
        run = created(await api.get(f"/executions/{execution['id']}/runs/{listed['id']}"))
        assert [attempt["number"] for attempt in run["attempts"]] == [1, 2]
        attempt = run["attempts"][-1]
        assert attempt["simulated"] is True
        assert [step["status"] for step in attempt["steps"]] == ["passed", "failed"]
        assert attempt["failure"]["step_index"] == 1
        screenshot = attempt["steps"][1]["screenshot"]
        artifact = next(artifact for artifact in attempt["artifacts"] if artifact["name"] == screenshot)
        assert (await api.download(artifact["url"]))[:8] == b"\x89PNG\r\n\x1a\n"

    async def test_executions_are_listed_with_filters(self, api: Api, world: World) -> None:
        app, *_, workflow = await world.passing_app()
        first = await world.start(workflow, {"X-CI-Branch": "main", "X-CI-Commit-SHA": "aa", "X-CI-PR-Number": "1"})
        second = await world.start(workflow)
        await asyncio.gather(world.ended(first["id"]), world.ended(second["id"]))

        async def listed(**params: str) -> list[str]:
            return [item["id"] for item in created(await api.get("/executions", params=params))["items"]]

        assert await listed() == [second["id"], first["id"]]
        assert await listed(branch="main") == [first["id"]]
        assert await listed(commit_sha="aa") == [first["id"]]
        assert await listed(pr_number="1") == [first["id"]]
        assert await listed(source="api") == [second["id"]]
        assert await listed(workflow_id=workflow["id"], app_id=app["id"], status="completed") == [
            second["id"],
            first["id"],
        ]
        assert await listed(status="failed") == []

    async def test_events_tell_the_whole_story_and_resume(self, api: Api, world: World) -> None:
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

    async def test_junit_has_a_testcase_per_run(self, api: Api, world: World) -> None:
        app, _, passing, _ = await world.passing_app()
        failing = await world.test(FAILING)
        await world.attach(app, failing)
        execution = await world.run(await world.workflow(passing, failing))
        answer = await api.get(f"/executions/{execution['id']}/junit.xml")
        assert answer.status == 200
        assert "xml" in answer.headers["Content-Type"]
        assert answer.text.count("<testcase") == 2
        assert answer.text.count("<failure") == 1

    async def test_a_cancelled_execution_ends_within_seconds(self, api: Api, world: World) -> None:
        workflow = await world.slow_workflow(minutes=5)
        started = await world.start(workflow)
        await eventually(lambda: world.stands(started["id"], "running"))
        answer = await api.post(f"/executions/{started['id']}/cancel")
        assert answer.status == 202
        execution = await world.ended(started["id"])
        assert (execution["status"], execution["success"], execution["counts"]["cancelled"]) == ("cancelled", None, 1)
        run = created(await api.get(f"/executions/{started['id']}/runs"))["items"][0]
        assert (run["status"], run["failure"]["category"]) == ("cancelled", "cancelled_by_user")
        again = await api.post(f"/executions/{started['id']}/cancel")
        assert again.status == 409

    @pytest.mark.parametrize("path", ["", "/runs", "/events", "/junit.xml", f"/runs/{UNKNOWN}"])
    async def test_a_foreign_execution_looks_like_an_unknown_one(self, foreign: Api, world: World, path: str) -> None:
        *_, workflow = await world.passing_app()
        started = await world.start(workflow)
        answers = [await foreign.get(f"/executions/{id_}{path}") for id_ in (started["id"], UNKNOWN)]
        assert [answer.status for answer in answers] == [404, 404]
        assert answers[0].body == answers[1].body
