"""Following executions and listing what may be run, as the interface says."""

import asyncio

import pytest

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, PASSING, UNKNOWN, World
from tests.eventually import eventually


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
