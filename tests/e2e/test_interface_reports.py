"""The interface document's reports of an app: workspace, test matrix, coverage."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.client import Api, created
from tests.e2e.shapes import COVERAGE, MATRIX, WORKSPACE, assert_shape
from tests.e2e.world import FAILING, UNKNOWN, World
from tests.eventually import eventually

VIEWS = ["workspace", "test_matrix", "coverage"]
ONCE = {"execution_mode": {"retries": 0}}


@pytest.mark.parametrize("view", VIEWS)
class TestEveryView:
    async def test_a_foreign_app_looks_like_an_unknown_one(self, foreign: Api, world: World, view: str) -> None:
        app = await world.app()
        answers = [await foreign.get(f"/apps/{id_}/{view}") for id_ in (app["id"], UNKNOWN)]
        assert [(answer.status, answer.detail) for answer in answers] == [(404, "App not found")] * 2

    async def test_an_id_that_is_no_uuid_is_refused(self, api: Api, view: str) -> None:
        assert (await api.get(f"/apps/x/{view}")).locations() == [["path", "app_id"]]


async def two_builds(world: World) -> tuple[Any, Any, Any, Any, Any]:
    """An app whose older build was run with one passing and one failing test and whose newer build was not."""
    app, older, passing, _ = await world.passing_app("1.0.0")
    failing = await world.test(FAILING)
    await world.attach(app, failing, "1.0.0")
    await world.run(await world.workflow(passing, failing, run_config=ONCE))
    newer = await world.build(app, "2.0.0")
    await world.reported(older, 2)
    return app, older, newer, passing, failing


class TestWorkspace:
    async def test_a_new_app_has_a_zero_filled_workspace(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.get(f"/apps/{app['id']}/workspace")
        assert answer.status == 200
        assert_shape(answer.body, WORKSPACE)
        assert answer.body["app"] == app
        trend = answer.body.pop("execution_trend")
        today = datetime.now(UTC).date()
        days = [(today - timedelta(days=back)).isoformat() for back in range(13, -1, -1)]
        assert [point["date"] for point in trend] in (
            days,
            [(datetime.fromisoformat(d) + timedelta(days=1)).date().isoformat() for d in days],
        )
        assert all((p["executions"], p["passed"], p["failed"]) == (0, 0, 0) for p in trend)
        nothing = dict.fromkeys(
            (
                "current_build_id",
                "current_build_version",
                "latest_build_id",
                "latest_build_version",
                "rolling_pass_rate",
            )
        )
        zeros = {
            "attached_tests": 0,
            "pinned_tests": 0,
            "recent_executions": 0,
            "attribution_ready": False,
            "build_health": [],
        }
        assert answer.body == {"app": app} | nothing | zeros

    async def test_trend_days_are_7_to_60(self, api: Api, world: World) -> None:
        app = await world.app()
        for days in ("6", "61", "x"):
            answer = await api.get(f"/apps/{app['id']}/workspace", params={"trend_days": days})
            assert (answer.status, answer.locations()) == (422, [["query", "trend_days"]])
        for count in (7, 8, 59, 60):
            workspace = created(await api.get(f"/apps/{app['id']}/workspace", params={"trend_days": str(count)}))
            assert len(workspace["execution_trend"]) == count

    async def test_shows_builds_with_their_health(self, api: Api, world: World) -> None:
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
        assert_shape(workspace, WORKSPACE)
        assert sum(point["executions"] for point in workspace["execution_trend"]) == 2
        assert [build["version"] for build in workspace["build_health"]] == ["2.0.0", "1.0.0"]
        untouched, run = workspace["build_health"]
        counts = (
            "observed_tests",
            "passed_tests",
            "failed_tests",
            "exact_runs",
            "completed_runs",
            "passed_runs",
            "failed_runs",
        )
        assert [untouched[name] for name in counts] == [0] * 7
        assert (untouched["pass_rate"], untouched["coverage_rate"]) == (None, 0)
        assert [run[name] for name in counts] == [2, 1, 1, 2, 2, 1, 1]
        assert (run["pass_rate"], run["coverage_rate"]) == (0.5, 1.0)


class TestMatrix:
    async def test_a_new_app_has_an_empty_matrix_with_the_defaults(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.get(f"/apps/{app['id']}/test_matrix")
        counts = {"build_count": 0, "test_count": 0, "total_builds": 0, "page": 1, "page_size": 10}
        assert (answer.status, answer.body) == (200, {"app_id": app["id"], "builds": [], "tests": []} | counts)

    async def test_bounds_of_the_query(self, api: Api, world: World) -> None:
        matrix = f"/apps/{(await world.app())['id']}/test_matrix"
        for name, value in (("page", "0"), ("page_size", "1"), ("page_size", "51")):
            answer = await api.get(matrix, params={name: value})
            assert (answer.status, answer.locations()) == (422, [["query", name]])
        for name, value in (("page", "1"), ("page", "2"), ("page_size", "2"), ("page_size", "50")):
            assert (await api.get(matrix, params={name: value})).status == 200

    async def test_pages_over_builds_newest_first(self, api: Api, world: World) -> None:
        app = await world.app()
        for version in ("1", "2", "3"):
            await world.build(app, version)
        pages = [
            created(await api.get(f"/apps/{app['id']}/test_matrix", params={"page_size": 2, "page": n}))
            for n in (1, 2, 3)
        ]
        assert [[build["version"] for build in page["builds"]] for page in pages] == [["3", "2"], ["1"], []]
        assert [(page["build_count"], page["total_builds"], page["page"], page["page_size"]) for page in pages] == [
            (2, 3, 1, 2),
            (1, 3, 2, 2),
            (0, 3, 3, 2),
        ]

    async def test_has_a_cell_where_a_run_was_and_says_why_it_failed(self, api: Api, world: World) -> None:
        app, older, _, passing, failing = await two_builds(world)
        matrix = created(await api.get(f"/apps/{app['id']}/test_matrix"))
        assert_shape(matrix, MATRIX)
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

    async def test_a_test_that_passes_since_an_edit_of_its_steps_is_not_called_flaky(
        self, api: Api, world: World
    ) -> None:
        app, build, test, _ = await world.passing_app()
        workflow = await world.workflow(test, run_config=ONCE)
        for steps, runs in ((FAILING, 2), (["launchApp"], 3)):
            created(await api.patch(f"/tests/{test['id']}", {"steps": steps}))
            for _ in range(runs):
                await world.run(workflow)
        await world.reported(build, 5)
        row = created(await api.get(f"/apps/{app['id']}/test_matrix"))["tests"][0]
        assert (row["classification"], row["flaky_score"], row["cells"][0]["test_version_number"]) == ("stable", 0, 3)


class TestCoverage:
    async def test_a_new_app_has_no_items(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.get(f"/apps/{app['id']}/coverage")
        nothing = {
            "app_id": app["id"],
            "current_build_version": None,
            "latest_build_version": None,
            "total": 0,
            "items": [],
        }
        assert (answer.status, answer.body) == (200, nothing)

    async def test_an_attached_test_shows_at_once_as_not_run(self, api: Api, world: World) -> None:
        app, _, test, _ = await world.passing_app("1.0.0")
        coverage = created(await api.get(f"/apps/{app['id']}/coverage"))
        assert_shape(coverage, COVERAGE)
        item = coverage["items"][0]
        assert (coverage["total"], item["test_id"], item["test_name"]) == (1, test["id"], test["name"])
        assert (item["relationship"], item["pinned_version"], item["target_build_version"]) == (
            "attached",
            None,
            "1.0.0",
        )
        assert (item["last_status"], item["last_execution_id"], item["last_observed_build_id"]) == (
            "not_run",
            None,
            None,
        )

    async def test_tells_stale_from_never_run_and_looks_at_the_target_build_only(self, api: Api, world: World) -> None:
        app, older, _, passing, failing = await two_builds(world)
        coverage = created(await api.get(f"/apps/{app['id']}/coverage"))
        assert_shape(coverage, COVERAGE)
        items = {item["test_id"]: item for item in coverage["items"]}
        stale, pinned = items[passing["id"]], items[failing["id"]]
        assert (stale["target_build_version"], stale["last_status"]) == ("2.0.0", "not_run")
        assert (stale["last_observed_build_id"], stale["last_observed_build_version"]) == (older["id"], "1.0.0")
        assert (pinned["relationship"], pinned["pinned_version"], pinned["last_status"]) == (
            "pinned",
            "1.0.0",
            "failed",
        )
        assert pinned["last_duration_seconds"] >= 0
