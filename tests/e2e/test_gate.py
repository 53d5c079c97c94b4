"""What changed between two builds, since when it is broken, and whether CI may continue."""

from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.client import Answer, Api, created
from tests.e2e.shapes import (
    Shape,
    array,
    assert_shape,
    boolean,
    date_time,
    integer,
    nullable,
    number,
    one_of,
    record,
    string,
    uuid,
)
from tests.e2e.world import FAILING, PASSING, UNKNOWN, World
from tests.eventually import eventually

STANDING = one_of("passed", "failed", "not_run")
COMPARED_BUILD: Shape = {
    "build_id": uuid,
    "version": string,
    "uploaded_at": date_time,
    "branch": nullable(string),
    "commit_sha": nullable(string),
}
BREAKAGE: Shape = {
    "first_failing": COMPARED_BUILD,
    "last_passing": nullable(COMPARED_BUILD),
    "commit_range": nullable(string),
}
COMPARED_TEST: Shape = {
    "test_id": uuid,
    "test_name": string,
    "status": STANDING,
    "base_status": STANDING,
    "failure_reason": nullable(string),
    "execution_id": nullable(uuid),
    "breakage": nullable(BREAKAGE),
    "classification": string,
    "flaky_score": number,
    "quarantine": nullable(record),
}
LISTS = ("newly_failing", "still_failing", "fixed", "flaky", "not_run")
COMPARISON: Shape = {
    "app_id": uuid,
    "build": COMPARED_BUILD,
    "base": COMPARED_BUILD,
    **dict.fromkeys(LISTS, array(COMPARED_TEST)),
    "passing": integer,
    "total": integer,
}
GATE: Shape = {
    "execution_id": uuid,
    "result": one_of("pass", "block", "pending"),
    "summary": string,
    "base_branch": string,
    "reasons": array(
        {
            "test_id": uuid,
            "test_name": string,
            "run_id": uuid,
            "app_id": nullable(uuid),
            "build_version": nullable(string),
            "blocks": boolean,
            "rule": one_of("newly_broken", "no_verdict", "known_on_base", "flaky", "quarantined"),
            "detail": string,
            "failure_reason": nullable(string),
            "breakage": nullable(BREAKAGE),
            "quarantine": nullable(record),
        }
    ),
    "total_runs": integer,
    "passed_runs": integer,
    "pending_runs": integer,
    "storm": boolean,
}


async def gate_of(api: Api, execution: Any, **params: str) -> Any:
    """The gate right after the end; asked again while a 503 says that reporting is behind, as CI would."""

    async def answered() -> Answer | None:
        answer = await api.get(f"/executions/{execution['id']}/gate", params=params)
        assert answer.status != 503 or "Retry-After" in answer.headers
        return None if answer.status == 503 else answer

    answer = await eventually(answered)
    assert answer
    gate = created(answer)
    assert_shape(gate, GATE)
    return gate


class Ci:
    """An app with two tests, "Pay" and "Search", that a CI system runs on build after build."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app: Any = None
        self.pay: Any = None
        self.search: Any = None

    async def __call__(self) -> "Ci":
        self.app = await self.world.app()
        self.pay = await self.world.test(PASSING, name="Pay")
        self.search = await self.world.test(PASSING, name="Search")
        for test in (self.pay, self.search):
            await self.world.attach(self.app, test)
        return self

    async def run(
        self, version: str, branch: str | None = None, *, pay: bool = True, search: bool = True
    ) -> tuple[Any, Any]:
        """A build, and an execution of both tests on it, each meant to pass or not: (build, execution)."""
        build = await self.world.build(self.app, version)
        for test, passes in ((self.pay, pay), (self.search, search)):
            created(await self.world.api.patch(f"/tests/{test['id']}", {"steps": PASSING if passes else FAILING}))
        run_config = {"execution_mode": {"retries": 0}}
        workflow = await self.world.workflow(self.pay, self.search, run_config=run_config)
        headers = {"X-CI-System": "ci", "X-CI-Branch": branch, "X-CI-Commit-SHA": f"c{version}"} if branch else {}
        started = await self.world.start(workflow, headers=headers)
        return build, await self.world.ended(started["id"])

    async def gate(self, execution: Any, **params: str) -> Any:
        return await gate_of(self.world.api, execution, **params)

    async def compare(self, build: Any, **params: str) -> Any:
        comparison = created(await self.world.api.get(f"/apps/builds/{build['id']}/compare", params=params))
        assert_shape(comparison, COMPARISON)
        return comparison


@pytest.fixture
async def ci(world: World) -> Ci:
    return await Ci(world)()


def changed(comparison: Any) -> dict[str, list[str]]:
    return {name: [test["test_name"] for test in comparison[name]] for name in LISTS if comparison[name]}


async def test_a_pull_request_from_its_first_failure_to_the_merge(ci: Ci) -> None:
    first, execution = await ci.run("1", "main", search=False)
    gate = await ci.gate(execution)
    assert (gate["result"], gate["summary"]) == ("block", 'Blocked: 1 test newly broken ("Search").')
    assert (gate["total_runs"], gate["passed_runs"], gate["pending_runs"], gate["storm"]) == (2, 1, 0, False)

    second, execution = await ci.run("2", "feature", pay=False, search=False)
    gate = await ci.gate(execution)
    assert gate["summary"] == ('Blocked: 1 test newly broken ("Pay"); 1 failure does not block (1 known on main).')
    pay, search = gate["reasons"]
    assert (pay["rule"], pay["blocks"], pay["build_version"]) == ("newly_broken", True, "2")
    assert pay["detail"].startswith("Fails here, and passed on main: its only run on build 1 passed, at ")
    assert pay["breakage"]["commit_range"] == "c1..c2"
    assert "Nothing of this name" in pay["failure_reason"]
    assert (search["rule"], search["blocks"]) == ("known_on_base", False)
    assert search["breakage"]["first_failing"]["build_id"] == first["id"]
    assert search["breakage"]["last_passing"] is None

    elsewhere = await ci.gate(execution, base_branch="develop")
    assert [reason["rule"] for reason in elsewhere["reasons"]] == ["newly_broken"] * 2

    comparison = await ci.compare(second, base=first["id"])
    assert changed(comparison) == {"newly_failing": ["Pay"], "still_failing": ["Search"]}
    assert (comparison["build"]["branch"], comparison["build"]["commit_sha"]) == ("feature", "c2")
    assert comparison["newly_failing"][0]["execution_id"] == execution["id"]

    third, execution = await ci.run("3", "feature", search=False)
    gate = await ci.gate(execution)
    assert (gate["result"], gate["summary"]) == (
        "pass",
        "Passed: 1 of 2 runs passed; 1 failure does not block (1 known on main).",
    )
    comparison = await ci.compare(third)
    assert comparison["base"]["build_id"] == second["id"]
    assert changed(comparison) == {"still_failing": ["Search"], "fixed": ["Pay"]}
    assert (comparison["passing"], comparison["total"]) == (0, 2)


async def test_a_run_without_a_verdict_blocks(world: World) -> None:
    test = await world.test()  # attached to no app
    execution = await world.run(await world.workflow(test))
    gate = await gate_of(world.api, execution)
    (reason,) = gate["reasons"]
    assert (gate["result"], reason["rule"], reason["app_id"]) == ("block", "no_verdict", None)
    assert reason["detail"] == "Ended without a verdict (config_invalid), so nothing is known of what it tests."


async def test_an_execution_under_way_is_pending(world: World) -> None:
    started = await world.start(await world.slow_workflow(minutes=5))
    gate = await gate_of(world.api, started)
    assert (gate["result"], gate["summary"]) == ("pending", "Pending: 1 of 1 run has not ended.")
    assert (await world.api.post(f"/executions/{started['id']}/cancel")).status == 202
    await world.ended(started["id"])
    gate = await gate_of(world.api, started)
    assert (gate["result"], gate["reasons"][0]["detail"]) == ("block", "Was cancelled before it had a verdict.")


async def test_a_build_that_was_just_uploaded_compares_with_what_was_run_before(ci: Ci) -> None:
    first, _ = await ci.run("1", "main")
    build = await ci.world.build(ci.app, "2")
    await ci.world.reported(first, 2)
    comparison = await ci.compare(build)
    assert (comparison["base"]["version"], changed(comparison)) == ("1", {"not_run": ["Pay", "Search"]})
    itself = await ci.compare(build, base=build["id"])
    assert changed(itself) == {"not_run": ["Pay", "Search"]}


class TestRefusals:
    async def test_unknown_and_foreign_things_look_the_same(self, ci: Ci, foreign: Api) -> None:
        build, execution = await ci.run("1", "main")
        for path, thing in (
            (f"/apps/builds/{build['id']}/compare", "Build"),
            (f"/apps/builds/{UNKNOWN}/compare", "Build"),
            (f"/executions/{execution['id']}/gate", "Execution"),
            (f"/executions/{UNKNOWN}/gate", "Execution"),
        ):
            answer = await foreign.get(path)
            assert (answer.status, answer.detail) == (404, f"{thing} not found")
        mine = ci.world.api
        answer = await mine.get(f"/apps/builds/{build['id']}/compare", params={"base": str(uuid4())})
        assert (answer.status, answer.detail) == (404, "Build not found")

    async def test_a_base_of_another_app_is_a_422(self, api: Api, world: World) -> None:
        _, build, _, _ = await world.passing_app()
        _, other, _, _ = await world.passing_app()

        async def compared() -> Answer | None:
            """503 until reporting has heard of both builds."""
            answer = await api.get(f"/apps/builds/{build['id']}/compare", params={"base": other["id"]})
            return answer if answer.status != 503 else None

        answer = await eventually(compared)
        assert answer is not None
        assert (answer.status, answer.locations()) == (422, [["query", "base"]])
        assert answer.detail[0]["msg"] == "The base is a build of another app; only builds of one app can be compared"

    async def test_without_an_earlier_build_a_base_is_asked_for(self, api: Api, world: World) -> None:
        _, build, _, _ = await world.passing_app()
        answer = await api.get(f"/apps/builds/{build['id']}/compare")
        assert (answer.status, answer.detail) == (
            404,
            "Base build not found: no earlier build of this app has a verdict; name one with base",
        )

    @pytest.mark.parametrize(
        ("path", "location"),
        [
            ("/executions/x/gate", ["path", "execution_id"]),
            ("/apps/builds/x/compare", ["path", "version_id"]),
            (f"/apps/builds/{UNKNOWN}/compare?base=x", ["query", "base"]),
            (f"/executions/{UNKNOWN}/gate?base_branch=", ["query", "base_branch"]),
        ],
    )
    async def test_bounds_go_before_existence(self, api: Api, path: str, location: list[str]) -> None:
        answer = await api.get(path)
        assert (answer.status, answer.locations()) == (422, [location])
