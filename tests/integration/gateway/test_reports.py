"""Reports: the catalog decides whether there is such a thing, reporting answers."""

from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import apps_pb2, builds_pb2, tests_pb2
from mobiletest.reporting.v1 import reports_pb2

from tests.fakes.gateway import Behind, knows_apps
from tests.integration.gateway.conftest import Client


def an_app() -> apps_pb2.App:
    return apps_pb2.App(
        id=str(uuid4()),
        name="Shop",
        revision=12,
        current_version="1.1",
        current_build_id="build-1",
        latest_version="1.2",
        latest_build_id="build-2",
        attached_tests=5,
        pinned_tests=2,
    )


async def test_the_workspace_joins_both_services(client: Client, behind: Behind) -> None:
    app = an_app()
    knows_apps(behind, app)
    behind.on("GetAppWorkspace", lambda _: reports_pb2.AppWorkspace(recent_executions=4, rolling_pass_rate=0.75))
    answer = await client("GET", f"/api/v1/apps/{app.id}/workspace/?trend_days=30")
    request = behind.requests("GetAppWorkspace")[0]
    assert (request.min_app_revision, request.trend_days) == (12, 30)
    assert answer.json["app"]["name"] == "Shop"
    assert answer.json["app"]["recent_executions"] == answer.json["recent_executions"] == 4
    assert answer.json["app"]["rolling_pass_rate"] == answer.json["rolling_pass_rate"] == 0.75
    assert (answer.json["current_build_id"], answer.json["current_build_version"]) == ("build-1", "1.1")
    assert (answer.json["latest_build_id"], answer.json["latest_build_version"]) == ("build-2", "1.2")
    assert (answer.json["attached_tests"], answer.json["pinned_tests"]) == (5, 2)
    assert answer.json["execution_trend"] == answer.json["build_health"] == []


@pytest.mark.parametrize("days", [6, 61])
async def test_bounds_go_before_existence(client: Client, behind: Behind, days: int) -> None:
    knows_apps(behind)
    answer = await client("GET", f"/api/v1/apps/{uuid4()}/workspace?trend_days={days}")
    assert answer.status == 422


@pytest.mark.parametrize("report", ["workspace", "test_matrix", "coverage"])
async def test_a_report_on_an_unknown_app_is_a_404(client: Client, behind: Behind, report: str) -> None:
    knows_apps(behind)
    answer = await client("GET", f"/api/v1/apps/{uuid4()}/{report}")
    assert (answer.status, answer.json["detail"]) == (404, "App not found")


async def test_matrix_and_coverage_wait_for_the_revision_of_the_app(client: Client, behind: Behind) -> None:
    app = an_app()
    knows_apps(behind, app)
    behind.on("GetTestMatrix", lambda _: reports_pb2.TestMatrix(app_id=app.id, page=1, page_size=10))
    behind.on("GetAppCoverage", lambda _: reports_pb2.AppCoverage(app_id=app.id))
    assert (await client("GET", f"/api/v1/apps/{app.id}/test_matrix")).json["page_size"] == 10
    assert (await client("GET", f"/api/v1/apps/{app.id}/coverage")).json["items"] == []
    assert behind.requests("GetTestMatrix")[0].min_app_revision == 12
    assert behind.requests("GetAppCoverage")[0].min_app_revision == 12


async def test_runs_of_a_build_need_the_build_or_its_history(client: Client, behind: Behind) -> None:
    known = str(uuid4())
    behind.on(
        "BatchGetBuilds",
        lambda request: builds_pb2.BatchGetBuildsResponse(
            builds=[builds_pb2.Build(id=id_) for id_ in request.version_ids if id_ == known]
        ),
    )
    item = reports_pb2.BuildRunItem(execution_id="e", status="EXECUTION_STATUS_COMPLETED", source="EXECUTION_SOURCE_CI")
    item.metadata.update({"branch": "main", "attempts": 2})
    deleted = str(uuid4())
    behind.on(
        "ListBuildRuns",
        lambda request: (
            reports_pb2.ListBuildRunsResponse(total=1, page=1, page_size=20, items=[item])
            if request.version_id in (known, deleted)
            else reports_pb2.ListBuildRunsResponse(page=1, page_size=20)
        ),
    )
    assert (await client("GET", f"/api/v1/apps/builds/{uuid4()}/runs")).json["detail"] == "Build not found"
    row = (await client("GET", f"/api/v1/apps/builds/{known}/runs")).json["items"][0]
    assert (await client("GET", f"/api/v1/apps/builds/{deleted}/runs")).json["items"] == [row]
    assert (row["status"], row["source"], row["metadata"]) == ("completed", "ci", {"branch": "main", "attempts": 2})
    assert row["started_at"] is row["report_metadata"] is None


async def test_runs_of_a_test_need_the_test(client: Client, behind: Behind) -> None:
    behind.on("BatchGetTests", lambda _: tests_pb2.BatchGetTestsResponse())
    behind.on("ListTestRuns", lambda _: reports_pb2.ListTestRunsResponse(page=1, page_size=20))
    answer = await client("GET", f"/api/v1/tests/{uuid4()}/runs")
    assert (answer.status, answer.json["detail"]) == (404, "Test not found")
