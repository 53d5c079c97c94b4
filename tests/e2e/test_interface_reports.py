"""The interface document's reports of an app: workspace, test matrix, coverage."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.shapes import assert_shape
from tests.e2e.world import FAILING, World
from tests.eventually import eventually

ONCE = {"execution_mode": {"retries": 0}}


async def two_builds(world: World) -> tuple[Any, Any, Any, Any, Any]:
    """An app whose older build was run with one passing and one failing test and whose newer build was not."""
    app, older, passing, _ = await world.passing_app("1.0.0")
    failing = await world.test(FAILING)
    await world.attach(app, failing, "1.0.0")
    await world.run(await world.workflow(passing, failing, run_config=ONCE))
    newer = await world.build(app, "2.0.0")
    await world.reported(older, 2)
    return app, older, newer, passing, failing


async def test_a_new_app_has_empty_reports(api: Api, world: World) -> None:
    app, before = await world.app(), datetime.now(UTC).date()
    workspace, matrix, coverage = [
        created(await api.get(f"/apps/{app['id']}/{view}")) for view in ("workspace", "test_matrix", "coverage")
    ]
    assert_shape(workspace, "Workspace")
    trend = workspace.pop("execution_trend")
    days = [
        [(last - timedelta(days=back)).isoformat() for back in range(13, -1, -1)]
        for last in (before, datetime.now(UTC).date())
    ]
    assert [point["date"] for point in trend] in days
    assert {(point["executions"], point["passed"], point["failed"]) for point in trend} == {(0, 0, 0)}
    builds = [f"{which}_build_{field}" for which in ("current", "latest") for field in ("id", "version")]
    zeros = dict.fromkeys(("attached_tests", "pinned_tests", "recent_executions", "recent_runs"), 0)
    nothing = {**dict.fromkeys((*builds, "rolling_pass_rate")), **zeros, "attribution_ready": False, "build_health": []}
    assert workspace == {"app": app} | nothing
    counts = {"build_count": 0, "test_count": 0, "total_builds": 0, "page": 1, "page_size": 10}
    assert matrix == {"app_id": app["id"], "builds": [], "tests": []} | counts
    versions = {"current_build_version": None, "latest_build_version": None}
    assert coverage == {"app_id": app["id"], "total": 0, "items": []} | versions


async def test_shows_builds_with_their_health(api: Api, world: World) -> None:
    app, older, newer, _, _ = await two_builds(world)
    created(await api.patch(f"/apps/{app['id']}", {"current_version": "1.0.0"}))
    expected = {
        "current_build_id": older["id"],
        "current_build_version": "1.0.0",
        "latest_build_id": newer["id"],
        "latest_build_version": "2.0.0",
        "attached_tests": 2,
        "pinned_tests": 1,
        "recent_executions": 1,
        "rolling_pass_rate": 0.5,
        "attribution_ready": True,
    }

    async def settled() -> Any:
        workspace = created(await api.get(f"/apps/{app['id']}/workspace"))
        assert {name: workspace[name] for name in expected} == expected
        return workspace

    workspace = await eventually(settled)
    assert_shape(workspace, "Workspace")
    assert sum(point["executions"] for point in workspace["execution_trend"]) == 2
    assert [build["version"] for build in workspace["build_health"]] == ["2.0.0", "1.0.0"]
    untouched, run = workspace["build_health"]
    tests = ("observed_tests", "passed_tests", "failed_tests")
    counts = (*tests, "exact_runs", "completed_runs", "passed_runs", "failed_runs")
    assert [untouched[name] for name in counts] == [0] * 7
    assert (untouched["pass_rate"], untouched["coverage_rate"]) == (None, 0)
    assert [run[name] for name in counts] == [2, 1, 1, 2, 2, 1, 1]
    assert (run["pass_rate"], run["coverage_rate"]) == (0.5, 1.0)


async def test_has_a_cell_where_a_run_was_and_says_why_it_failed(api: Api, world: World) -> None:
    app, older, _, passing, failing = await two_builds(world)
    matrix = created(await api.get(f"/apps/{app['id']}/test_matrix"))
    assert_shape(matrix, "Matrix")
    assert [build["version"] for build in matrix["builds"]] == ["2.0.0", "1.0.0"]
    rows = {row["test_id"]: row for row in matrix["tests"]}
    assert set(rows) == {passing["id"], failing["id"]}
    assert [row["test_name"] for row in matrix["tests"]] == sorted(row["test_name"] for row in matrix["tests"])
    passed, failed = rows[passing["id"]]["cells"], rows[failing["id"]]["cells"]
    assert [cell["build_id"] for cell in passed + failed] == [older["id"]] * 2
    counts = ("total_runs", "passed_runs", "failed_runs", "cancelled_runs")
    assert [passed[0][name] for name in counts] == [1, 1, 0, 0]
    assert [failed[0][name] for name in counts] == [1, 0, 1, 0]
    assert (passed[0]["top_failure_reason"], passed[0]["failure_details"]) == (None, [])
    assert "Nothing of this name" in failed[0]["top_failure_reason"]
    assert failed[0]["failure_details"][0]["count"] == 1
    assert rows[failing["id"]]["classification"] == "insufficient_data"


async def test_distinguishes_stale_from_never_run_on_the_target_build(api: Api, world: World) -> None:
    app, older, _, passing, failing = await two_builds(world)
    coverage = created(await api.get(f"/apps/{app['id']}/coverage"))
    assert_shape(coverage, "Coverage")
    items = {item["test_id"]: item for item in coverage["items"]}
    stale, pinned = items[passing["id"]], items[failing["id"]]
    assert (stale["target_build_version"], stale["last_status"]) == ("2.0.0", "not_run")
    assert (stale["last_observed_build_id"], stale["last_observed_build_version"]) == (older["id"], "1.0.0")
    assert (pinned["relationship"], pinned["pinned_version"], pinned["last_status"]) == ("pinned", "1.0.0", "failed")
    assert pinned["last_duration_seconds"] >= 0
