"""What changes elsewhere shows in every report: names, attachments, pins, pointers, deletions, versions of tests."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import FAILING, World
from tests.eventually import eventually

ONCE = {"execution_mode": {"retries": 0}}


@dataclass(frozen=True)
class Desk:
    """An app with two builds; the older one was run with a passing and a failing test, both attached."""

    api: Api
    world: World
    app: Any
    older: Any
    newer: Any
    passing: Any
    failing: Any

    async def workspace(self) -> Any:
        return created(await self.api.get(f"/apps/{self.app['id']}/workspace"))

    async def health(self, build: Any) -> Any:
        """The build's health in the workspace; None without one."""
        builds = (await self.workspace())["build_health"]
        return next((item for item in builds if item["build_id"] == build["id"]), None)

    async def matrix(self) -> Any:
        return created(await self.api.get(f"/apps/{self.app['id']}/test_matrix"))

    async def versions(self) -> Any:
        """The versions of the builds in the matrix."""
        return [build["version"] for build in (await self.matrix())["builds"]]

    async def row(self, test: Any) -> Any:
        """The test's row of the matrix; None without one."""
        return next((row for row in (await self.matrix())["tests"] if row["test_id"] == test["id"]), None)

    async def coverage(self) -> Any:
        return created(await self.api.get(f"/apps/{self.app['id']}/coverage"))

    async def covered(self, test: Any) -> Any:
        """The test's item of the coverage; None without one."""
        return next((item for item in (await self.coverage())["items"] if item["test_id"] == test["id"]), None)

    async def runs(self, build: Any) -> Any:
        return created(await self.api.get(f"/apps/builds/{build['id']}/runs"))

    async def delete(self, path: str) -> None:
        assert (await self.api.delete(path)).status == 204

    async def point(self, version: str | None) -> None:
        """Move the app's current version."""
        created(await self.api.patch(f"/apps/{self.app['id']}", {"current_version": version}))


async def desk(world: World) -> Desk:
    app, older, passing, _ = await world.passing_app("1.0.0")
    failing = await world.test(FAILING, app=app)
    await world.run(await world.workflow(passing, failing, run_config=ONCE))
    newer = await world.build(app, "2.0.0")
    await world.reported(older, 2)
    return Desk(world.api, world, app, older, newer, passing, failing)


async def reads(probe: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """Until the probe gives what is expected: reports wait for changes of their app, but not longer than 2 s."""

    async def same() -> bool:
        actual = await probe()
        assert actual == expected
        return True

    await eventually(same)


async def shows(view: Callable[..., Awaitable[Any]], *of: Any, **expected: Any) -> None:
    """Until the view has these fields."""

    async def fields() -> Any:
        item = await view(*of)
        return item and {name: item[name] for name in expected}

    await reads(fields, expected)


async def test_a_renamed_build_has_its_new_version_wherever_it_is_named(world: World) -> None:
    at = await desk(world)
    await at.point("1.0.0")
    await world.attach(at.app, at.failing, "1.0.0")
    created(await at.api.patch(f"/apps/builds/{at.older['id']}", {"version": "1.0.1"}))
    await shows(at.health, at.older, version="1.0.1", exact_runs=2)
    await shows(at.workspace, current_build_version="1.0.1", current_build_id=at.older["id"])
    await reads(at.versions, ["2.0.0", "1.0.1"])
    assert [cell["build_version"] for cell in (await at.row(at.passing))["cells"]] == ["1.0.1"]
    now = {"target_build_version": "1.0.1", "last_observed_build_version": "1.0.1"}
    await shows(at.covered, at.passing, last_status="passed", **now)
    await shows(at.covered, at.failing, pinned_version="1.0.1", last_status="failed", **now)
    assert {item["resolved_build_version"] for item in (await at.runs(at.older))["items"]} == {"1.0.0"}


async def test_attachments_decide_on_coverage_and_health_and_history_stays(world: World) -> None:
    at = await desk(world)
    test = await world.test(app=at.app)
    await shows(at.row, test, cells=[], classification="insufficient_data")
    await shows(at.covered, test, last_status="not_run", last_observed_build_id=None, target_build_version="2.0.0")
    await shows(at.workspace, attached_tests=3, pinned_tests=0)
    await at.delete(f"/tests/{test['id']}")
    await reads(partial(at.row, test), None)
    await shows(at.matrix, test_count=2)
    await at.point("1.0.0")
    await shows(at.health, at.older, observed_tests=2, passed_tests=1, failed_tests=1, coverage_rate=1.0)
    await at.delete(f"/apps/{at.app['id']}/tests/{at.failing['id']}")
    await reads(partial(at.covered, at.failing), None)
    await shows(at.health, at.older, observed_tests=1, passed_tests=1, failed_tests=0, coverage_rate=1.0)
    await shows(at.health, at.older, exact_runs=2, passed_runs=1, failed_runs=1)
    await shows(at.workspace, attached_tests=1)
    assert [cell["failed_runs"] for cell in (await at.row(at.failing))["cells"]] == [1]
    assert (await at.runs(at.older))["total"] == 2
    await world.attach(at.app, at.failing, "1.0.0")
    again = {"relationship": "pinned", "last_status": "failed", "last_observed_build_version": "1.0.0"}
    await shows(at.covered, at.failing, **again)


async def test_a_deleted_build_leaves_lists_and_what_named_it_waits_for_its_version(world: World) -> None:
    at = await desk(world)
    await at.point("1.0.0")
    await world.attach(at.app, at.failing, "1.0.0")
    await at.delete(f"/apps/builds/{at.older['id']}")
    await reads(at.versions, ["2.0.0"])
    await shows(at.matrix, total_builds=1, build_count=1, test_count=2)
    assert [row["cells"] for row in (await at.matrix())["tests"]] == [[], []]
    await shows(at.workspace, recent_executions=1, rolling_pass_rate=0.5, attribution_ready=True, current_build_id=None)
    workspace = await at.workspace()
    assert [build["version"] for build in workspace["build_health"]] == ["2.0.0"]
    assert workspace["app"]["versions_count"] == 1
    runs = await at.runs(at.older)
    assert (runs["total"], {item["resolved_build_version"] for item in runs["items"]}) == (2, {"1.0.0"})
    await shows(at.coverage, current_build_version=None)
    stale = {"last_observed_build_id": at.older["id"], "last_observed_build_version": "1.0.0"}
    await shows(at.covered, at.passing, target_build_version="2.0.0", last_status="not_run", **stale)
    await shows(at.covered, at.failing, target_build_version="1.0.0", last_status="not_run", **stale)
    again = await world.build(at.app, "1.0.0")
    await shows(at.workspace, current_build_id=again["id"])
    await shows(at.covered, at.failing, target_build_version="1.0.0", last_status="not_run", **stale)
    await shows(at.health, again, exact_runs=0, observed_tests=0)
