"""Superseding, rerunning and priorities, as a CI system meets them: through REST only."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, UNKNOWN, World
from tests.eventually import eventually

START = "/execution/api/execute_workflow_id_async"
PULL = {"X-CI-Repository": "shop", "X-CI-Branch": "fix", "X-CI-PR-Number": "7"}


class TestCancelPrevious:
    async def test_a_running_one_is_cancelled_within_seconds_and_names_its_successor(
        self, api: Api, world: World
    ) -> None:
        workflow = await world.slow_workflow(minutes=5)
        earlier = await world.start(workflow, PULL)
        await eventually(lambda: world.stands(earlier["id"], "running"))
        newer = await world.start(workflow, PULL, cancel_previous=True)
        execution = await world.ended(earlier["id"])  # of five minutes
        assert (execution["status"], execution["superseded_by"]) == ("cancelled", newer["id"])
        assert execution["failure"] == {
            "category": "cancelled_superseded",
            "message": f"Superseded by execution {newer['id']}.",
        }
        [run] = created(await api.get(f"/executions/{earlier['id']}/runs"))["items"]
        assert run["failure"]["category"] == "cancelled_superseded"
        survivor = created(await api.get(f"/executions/{newer['id']}"))
        assert (survivor["superseded_by"], survivor["completed_at"]) == (None, None)
        await api.post(f"/executions/{newer['id']}/cancel")

    async def test_without_a_change_it_is_refused_and_says_which_header_to_send(self, api: Api, world: World) -> None:
        *_, workflow = await world.passing_app()
        body = {"workflow_id": workflow["id"], "cancel_previous": True}
        answer = await api.post(START, body, headers={"X-CI-Repository": "shop"})
        assert (answer.status, answer.locations()) == (422, [["body", "cancel_previous"]])
        assert "X-CI-PR-Number or X-CI-Branch" in answer.detail[0]["msg"]
        assert created(await api.get("/executions"))["total"] == 0

    async def test_of_many_at_once_one_survives(self, api: Api, world: World) -> None:
        workflow = await world.slow_workflow(minutes=5)
        started = await asyncio.gather(*(world.start(workflow, PULL, cancel_previous=True) for _ in range(6)))

        async def only_one_is_left() -> Any:
            items = created(await api.get("/executions"))["items"]
            open_ones = [item for item in items if item["completed_at"] is None]
            return open_ones if len(open_ones) == 1 else None

        [survivor] = await eventually(only_one_is_left)
        newest = created(await api.get("/executions"))["items"][0]
        assert survivor["id"] == newest["id"]
        assert survivor["id"] in {start["id"] for start in started}
        await api.post(f"/executions/{survivor['id']}/cancel")


class TestRerun:
    async def mixed(self, world: World) -> tuple[Any, Any]:
        """A build, and an ended execution of a passing and a failing test on it."""
        app, build, passing, _ = await world.passing_app("1.0.0")
        failing = await world.test(FAILING)
        await world.attach(app, failing)
        workflow = await world.workflow(passing, failing)
        started = await world.start(workflow, PULL, priority=4)
        return build, await world.ended(started["id"])

    async def test_repeats_the_same_versions_on_the_same_builds(self, api: Api, world: World) -> None:
        build, earlier = await self.mixed(world)
        runs = created(await api.get(f"/executions/{earlier['id']}/runs"))["items"]
        created(await api.patch(f"/tests/{runs[0]['test_id']}", {"steps": FAILING}))
        answer = await api.post(f"/executions/{earlier['id']}/rerun")
        assert answer.status == 202
        assert answer.headers["Location"] == f"/api/v1/executions/{answer.body['id']}"
        assert set(answer.body) == {"status", "message", "id", "task_id"}
        again = await world.ended(answer.body["id"])
        assert (again["source"], again["rerun_of"], again["priority"]) == ("rerun", earlier["id"], 4)
        assert (again["ci"], again["run_config"]) == (earlier["ci"], earlier["run_config"])
        assert again["counts"] == earlier["counts"]
        repeated = created(await api.get(f"/executions/{again['id']}/runs"))["items"]
        same = ("test_id", "test_version_number", "build_id", "app_id", "platform", "success")
        assert [[run[key] for key in same] for run in repeated] == [[run[key] for key in same] for run in runs]
        await world.reported(build, 4)
        matrix = created(await api.get(f"/apps/{runs[0]['app_id']}/test_matrix"))
        assert sorted(row["test_id"] for row in matrix["tests"]) == sorted(run["test_id"] for run in runs)
        assert [[cell["total_runs"] for cell in row["cells"]] for row in matrix["tests"]] == [[2], [2]]

    async def test_failed_only_runs_what_did_not_pass(self, api: Api, world: World) -> None:
        _, earlier = await self.mixed(world)
        answer = await api.post(f"/executions/{earlier['id']}/rerun", {"failed_only": True})
        again = await world.ended(answer.body["id"])
        assert (again["counts"]["total"], again["counts"]["failed"]) == (1, 1)

    async def test_a_key_makes_it_happen_once(self, api: Api, world: World) -> None:
        _, earlier = await self.mixed(world)
        headers = {"Idempotency-Key": str(uuid4())}
        answers = [await api.post(f"/executions/{earlier['id']}/rerun", {}, headers=headers) for _ in range(2)]
        assert answers[0].body == answers[1].body
        assert answers[1].headers["Idempotent-Replayed"] == "true"

    async def test_what_goes_on_or_passed_wholly_is_a_conflict(self, api: Api, world: World) -> None:
        slow = await world.start(await world.slow_workflow(minutes=5))
        answer = await api.post(f"/executions/{slow['id']}/rerun")
        assert answer.status == 409
        assert "Cancel it, or wait" in answer.detail
        await api.post(f"/executions/{slow['id']}/cancel")
        *_, workflow = await world.passing_app()
        passed = await world.run(workflow)
        answer = await api.post(f"/executions/{passed['id']}/rerun", {"failed_only": True})
        assert (answer.status, answer.body["code"]) == (409, "NOTHING_FAILED")

    async def test_a_foreign_execution_looks_like_an_unknown_one(self, foreign: Api, world: World) -> None:
        *_, workflow = await world.passing_app()
        started = await world.start(workflow)
        answers = [await foreign.post(f"/executions/{id_}/rerun") for id_ in (started["id"], UNKNOWN)]
        assert [(answer.status, answer.detail) for answer in answers] == [(404, "Execution not found")] * 2


class TestPriority:
    async def test_is_shown_and_zero_by_default(self, api: Api, world: World) -> None:
        *_, test, workflow = await world.passing_app()
        urgent = await world.start(workflow, priority=10)
        usual = await world.start(workflow)
        single = created(await api.post("/tests/execute", {"test_id": test["id"], "priority": -10}))
        shown = [created(await api.get(f"/executions/{e['id']}"))["priority"] for e in (urgent, usual, single)]
        assert shown == [10, 0, -10]

    @pytest.mark.parametrize("priority", [-11, 11, "high", 1.5])
    async def test_has_bounds(self, api: Api, world: World, priority: Any) -> None:
        *_, workflow = await world.passing_app()
        answer = await api.post(START, {"workflow_id": workflow["id"], "priority": priority})
        assert (answer.status, answer.locations()) == (422, [["body", "priority"]])
