"""What changed between two builds, since when it is broken, and whether CI may continue."""

from typing import Any

import pytest

from tests.e2e.client import Answer, Api, created
from tests.e2e.shapes import assert_shape
from tests.e2e.world import FAILING, PASSING, World
from tests.eventually import eventually

LISTS = ("newly_failing", "never_passed", "not_run_before", "still_failing", "fixed", "flaky", "not_run")
BUILT_IN = "Simulated devices ran their built-in model instead of the build, of which this says nothing."


async def gate_of(api: Api, execution: Any, **params: str) -> Any:
    """The gate right after the end; asked again while a 503 says that reporting is behind, as CI would."""

    async def answered() -> Answer | None:
        answer = await api.get(f"/executions/{execution['id']}/gate", params=params)
        assert answer.status != 503 or "Retry-After" in answer.headers
        return None if answer.status == 503 else answer

    answer = await eventually(answered)
    assert answer
    gate = created(answer)
    assert_shape(gate, "Gate")
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
        self,
        version: str,
        branch: str | None = None,
        *,
        pay: bool = True,
        search: bool = True,
        base_branch: str = "",
    ) -> tuple[Any, Any]:
        """A build, and an execution of both tests on it, each meant to pass or not: (build, execution)."""
        build = await self.world.build(self.app, version)
        for test, passes in ((self.pay, pay), (self.search, search)):
            created(await self.world.api.patch(f"/tests/{test['id']}", {"steps": PASSING if passes else FAILING}))
        run_config = {"execution_mode": {"retries": 0}}
        workflow = await self.world.workflow(self.pay, self.search, run_config=run_config)
        headers = {"X-CI-System": "ci", "X-CI-Branch": branch, "X-CI-Commit-SHA": f"c{version}"} if branch else {}
        headers |= {"X-CI-Base-Branch": base_branch} if base_branch else {}
        started = await self.world.start(workflow, headers=headers)
        return build, await self.world.ended(started["id"])

    async def gate(self, execution: Any, **params: str) -> Any:
        return await gate_of(self.world.api, execution, **params)

    async def build_gate(self, build: Any) -> Any:
        gate = created(await self.world.api.get(f"/apps/builds/{build['id']}/gate"))
        assert_shape(gate, "BuildGate")
        return gate

    async def compare(self, build: Any, **params: str) -> Any:
        comparison = created(await self.world.api.get(f"/apps/builds/{build['id']}/compare", params=params))
        assert_shape(comparison, "Comparison")
        return comparison


@pytest.fixture
async def ci(world: World) -> Ci:
    return await Ci(world)()


def changed(comparison: Any) -> dict[str, list[str]]:
    return {name: [test["test_name"] for test in comparison[name]] for name in LISTS if comparison[name]}


async def test_a_pull_request_from_its_first_failure_to_the_merge(ci: Ci) -> None:
    first, execution = await ci.run("1", "main", search=False)
    gate = await ci.gate(execution)
    assert (gate["result"], gate["summary"]) == (
        "block",
        f'Blocked: 1 failing test that was not run before ("Search"). {BUILT_IN}',
    )
    assert (gate["covers"], gate["branch"]) == ('Covers 2 tests on build 1: "Pay", "Search".', "main")
    assert (gate["total_runs"], gate["passed_runs"], gate["pending_runs"], gate["storm"]) == (2, 1, 0, False)

    second, execution = await ci.run("2", "feature", pay=False, search=False)
    gate = await ci.gate(execution)
    assert gate["summary"] == (
        f'Blocked: 1 test newly broken ("Pay"); 1 failure does not block (1 known on main: "Search"). {BUILT_IN}'
    )
    pay, search = gate["reasons"]
    assert (pay["rule"], pay["blocks"], pay["build_version"]) == ("newly_broken", True, "2")
    assert pay["detail"].startswith("Fails here, and passed on main: its only run on build 1 passed, at ")
    assert pay["breakage"]["commit_range"] == "c1..c2"
    assert "Nothing of this name" in pay["failure_reason"]
    assert (search["rule"], search["blocks"]) == ("known_on_base", False)
    assert search["breakage"]["first_failing"]["build_id"] == first["id"]
    assert search["breakage"]["last_passing"] is None

    elsewhere = await ci.gate(execution, base_branch="develop")
    assert [reason["rule"] for reason in elsewhere["reasons"]] == ["not_run_before"] * 2

    comparison = await ci.compare(second, base=first["id"])
    assert changed(comparison) == {"newly_failing": ["Pay"], "still_failing": ["Search"]}
    assert (comparison["build"]["branch"], comparison["build"]["commit_sha"]) == ("feature", "c2")
    assert comparison["newly_failing"][0]["execution_id"] == execution["id"]

    third, execution = await ci.run("3", "feature", search=False)
    gate = await ci.gate(execution)
    assert (gate["result"], gate["summary"]) == (
        "pass",
        f'Passed: 1 of 2 runs passed; 1 failure does not block (1 known on main: "Search"). {BUILT_IN}',
    )
    comparison = await ci.compare(third)
    assert comparison["base"]["build_id"] == second["id"]
    assert changed(comparison) == {"still_failing": ["Search"], "fixed": ["Pay"]}
    assert (comparison["passing"], comparison["total"]) == (0, 2)


async def test_runs_of_an_unknown_branch_make_no_failure_known(ci: Ci) -> None:
    """As on a CI system that nobody knows: neither main nor the other pull requests name a branch."""
    await ci.run("1")
    await ci.run("2", pay=False)
    third, execution = await ci.run("3", pay=False)
    gate = await ci.gate(execution)
    assert (gate["result"], gate["branch"]) == ("block", None)
    (reason,) = gate["reasons"]
    assert reason["rule"] == "not_run_before"
    assert reason["detail"] == (
        "Fails here, and no run on an earlier build that names main has a verdict. The branch of this run is not known."
    )
    assert reason["breakage"]["first_failing"]["build_id"] == third["id"]
    answer = await ci.world.api.get(f"/apps/builds/{third['id']}/compare")
    assert (answer.status, "name one with base" in str(answer.detail)) == (404, True)


async def test_the_gate_of_a_build_covers_all_its_executions(ci: Ci) -> None:
    """One passing run of one test turns no build green on which another fails."""
    await ci.run("1", "main")
    build, _ = await ci.run("2", "feature", search=False)
    login = await ci.world.test(PASSING, name="Log in")
    await ci.world.attach(ci.app, login)
    again = await ci.world.run(await ci.world.workflow(ci.pay))
    assert (await ci.gate(again))["result"] == "pass"
    await ci.world.reported(build, 3)
    gate = await ci.build_gate(build)
    assert (gate["result"], gate["total_tests"], gate["passed_tests"]) == ("block", 3, 1)
    assert gate["summary"] == 'Blocked: 1 test newly broken ("Search"); 1 test was not run ("Log in"). ' + BUILT_IN
    assert gate["covers"] == "Covers 2 of 3 attached tests, by the newest verdict of each on build 2."
    assert [test["test_id"] for test in gate["not_run"]] == [login["id"]]


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
