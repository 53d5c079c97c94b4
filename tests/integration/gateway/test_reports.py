"""Reports: the catalog decides whether there is such a thing, reporting answers."""

from uuid import uuid4

import pytest
from mobiletest.catalog.v1 import apps_pb2, builds_pb2, tests_pb2
from mobiletest.executor.v1 import executions_pb2, screens_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1.ci_pb2 import CiAttribution

from tests.fakes.gateway import FakeBackends, script_apps
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")


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


async def test_the_workspace_joins_both_services(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    script_apps(backends, app)
    backends.on("GetAppWorkspace", lambda _: reports_pb2.AppWorkspace(recent_executions=4, rolling_pass_rate=0.75))
    answer = await client("GET", f"/api/v1/apps/{app.id}/workspace/?trend_days=30")
    request = backends.requests("GetAppWorkspace")[0]
    assert (request.min_app_revision, request.trend_days) == (12, 30)
    assert answer.json["app"]["name"] == "Shop"
    assert answer.json["app"]["recent_executions"] == answer.json["recent_executions"] == 4
    assert answer.json["app"]["rolling_pass_rate"] == answer.json["rolling_pass_rate"] == 0.75
    assert (answer.json["current_build_id"], answer.json["current_build_version"]) == ("build-1", "1.1")
    assert (answer.json["latest_build_id"], answer.json["latest_build_version"]) == ("build-2", "1.2")
    assert (answer.json["attached_tests"], answer.json["pinned_tests"]) == (5, 2)
    assert answer.json["execution_trend"] == answer.json["build_health"] == []


@pytest.mark.parametrize("days", [6, 61])
async def test_validation_precedes_existence(client: Client, backends: FakeBackends, days: int) -> None:
    script_apps(backends)
    answer = await client("GET", f"/api/v1/apps/{uuid4()}/workspace?trend_days={days}")
    assert answer.status == 422


@pytest.mark.parametrize("report", ["workspace", "test_matrix", "coverage"])
async def test_a_report_on_an_unknown_app_is_a_404(client: Client, backends: FakeBackends, report: str) -> None:
    script_apps(backends)
    answer = await client("GET", f"/api/v1/apps/{uuid4()}/{report}")
    assert (answer.status, answer.json["detail"]) == (404, "App not found")


async def test_matrix_and_coverage_wait_for_the_revision_of_the_app(client: Client, backends: FakeBackends) -> None:
    app = an_app()
    script_apps(backends, app)
    backends.on("GetTestMatrix", lambda _: reports_pb2.TestMatrix(app_id=app.id, page=1, page_size=10))
    backends.on("GetAppCoverage", lambda _: reports_pb2.AppCoverage(app_id=app.id))
    assert (await client("GET", f"/api/v1/apps/{app.id}/test_matrix")).json["page_size"] == 10
    assert (await client("GET", f"/api/v1/apps/{app.id}/coverage")).json["items"] == []
    assert backends.requests("GetTestMatrix")[0].min_app_revision == 12
    assert backends.requests("GetAppCoverage")[0].min_app_revision == 12


async def test_runs_of_a_build_need_the_build_or_its_history(client: Client, backends: FakeBackends) -> None:
    known = str(uuid4())
    backends.on(
        "BatchGetBuilds",
        lambda request: builds_pb2.BatchGetBuildsResponse(
            builds=[builds_pb2.Build(id=id_) for id_ in request.version_ids if id_ == known]
        ),
    )
    item = reports_pb2.BuildRunItem(execution_id="e", status="EXECUTION_STATUS_COMPLETED", source="EXECUTION_SOURCE_CI")
    item.metadata.update({"branch": "main", "attempts": 2})
    deleted = str(uuid4())
    backends.on(
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


async def test_the_history_of_a_deleted_test_is_there_although_no_run_has_the_result(
    client: Client, backends: FakeBackends
) -> None:
    backends.on("BatchGetTests", lambda _: tests_pb2.BatchGetTestsResponse())
    backends.on(
        "ListTestRuns",
        lambda request: reports_pb2.ListTestRunsResponse(total=int(not request.result), page=1, page_size=20),
    )
    answer = await client("GET", f"/api/v1/tests/{uuid4()}/runs?result=failed")
    assert (answer.status, answer.json["total"]) == (200, 0)


async def test_runs_of_a_test_need_the_test(client: Client, backends: FakeBackends) -> None:
    backends.on("BatchGetTests", lambda _: tests_pb2.BatchGetTestsResponse())
    backends.on("ListTestRuns", lambda _: reports_pb2.ListTestRunsResponse(page=1, page_size=20))
    answer = await client("GET", f"/api/v1/tests/{uuid4()}/runs")
    assert (answer.status, answer.json["detail"]) == (404, "Test not found")


def script_execution(backends: FakeBackends, ci: CiAttribution | None = None, **counts: int) -> str:
    """An execution that the executor knows, with runs in these states; gives its id."""
    execution = executions_pb2.Execution(id=str(uuid4()), counts=executions_pb2.RunCounts(**counts), ci=ci)
    backends.on(
        "BatchGetExecutions",
        lambda request: executions_pb2.BatchGetExecutionsResponse(
            executions=[execution] if execution.id in request.execution_ids else []
        ),
    )
    return execution.id


async def test_a_gate_covers_every_run_that_has_ended(client: Client, backends: FakeBackends) -> None:
    execution = script_execution(
        backends, total=9, queued=1, running=1, passed=1, failed=2, cancelled=1, infra_failed=3
    )
    reason = reports_pb2.GateReason(rule=reports_pb2.GATE_RULE_NEWLY_BROKEN, blocks=True, test_name="Pay")
    gate = reports_pb2.Gate(execution_id=execution, result=reports_pb2.GATE_RESULT_BLOCK, reasons=[reason])
    backends.on("GetGate", lambda _: gate)
    answer = await client("GET", f"/api/v1/executions/{execution}/gate?base_branch=release/1.x")
    (request,) = backends.requests("GetGate")
    assert (request.min_ended_runs, request.total_runs, request.base_branch) == (7, 9, "release/1.x")
    assert (answer.status, answer.json["result"]) == (200, "block")
    shown = answer.json["reasons"][0]
    assert (shown["rule"], shown["blocks"], shown["breakage"], shown["quarantine"]) == (
        "newly_broken",
        True,
        None,
        None,
    )


async def test_the_default_base_branch_is_that_of_the_start(client: Client, backends: FakeBackends) -> None:
    execution = script_execution(backends, CiAttribution(base_branch="develop"), total=1)
    backends.on(
        "GetGate", lambda request: reports_pb2.Gate(base_branch=request.base_branch, result="GATE_RESULT_PENDING")
    )
    for query, branch in (("", "develop"), ("?base_branch=main", "main")):
        answer = await client("GET", f"/api/v1/executions/{execution}/gate{query}")
        assert (answer.json["base_branch"], answer.json["result"]) == (branch, "pending")


async def test_a_gate_on_an_unknown_execution_is_a_404(client: Client, backends: FakeBackends) -> None:
    script_execution(backends)
    answer = await client("GET", f"/api/v1/executions/{uuid4()}/gate")
    assert (answer.status, answer.json["detail"]) == (404, "Execution not found")
    assert backends.requests("GetGate") == []


async def test_a_gate_without_reporting_is_a_503_and_never_a_pass(
    own_client: Client, own_backends: FakeBackends
) -> None:
    execution = script_execution(own_backends, total=1, passed=1)
    await own_backends.stop("reporting")
    answer = await own_client("GET", f"/api/v1/executions/{execution}/gate")
    assert (answer.status, "Retry-After" in answer.headers) == (503, True)
    assert "result" not in answer.json


async def test_internal_fields_are_hidden(client: Client, backends: FakeBackends) -> None:
    execution = script_execution(backends, total=2, passed=1)
    backends.on("GetGate", lambda _: reports_pb2.Gate(result="GATE_RESULT_PENDING"))
    path = f"/api/v1/executions/{execution}/gate?min_ended_runs=0&total_runs=0"
    await client("GET", path)
    assert [(request.min_ended_runs, request.total_runs) for request in backends.requests("GetGate")] == [(1, 2)]


async def test_a_comparison_waits_for_the_revision_of_the_app(client: Client, backends: FakeBackends) -> None:
    build, base = str(uuid4()), str(uuid4())
    app = apps_pb2.App(id=str(uuid4()), revision=12)
    script_apps(backends, app)
    backends.on(
        "BatchGetBuilds",
        lambda request: builds_pb2.BatchGetBuildsResponse(
            builds=[builds_pb2.Build(id=id_, app_id=app.id) for id_ in request.version_ids if id_ in (build, base)]
        ),
    )
    row = reports_pb2.ComparedTest(test_name="Pay", status="LAST_STATUS_FAILED", base_status="LAST_STATUS_NOT_RUN")
    row.breakage.commit_range = "a..b"
    backends.on("CompareBuilds", lambda _: reports_pb2.BuildComparison(app_id=app.id, newly_failing=[row], total=4))
    answer = await client("GET", f"/api/v1/apps/builds/{build}/compare?base={base}")
    (request,) = backends.requests("CompareBuilds")
    assert (request.version_id, request.base, request.min_app_revision) == (build, base, 12)
    (shown,) = answer.json["newly_failing"]
    assert (shown["status"], shown["base_status"], shown["execution_id"]) == ("failed", "not_run", None)
    assert (shown["breakage"]["commit_range"], shown["breakage"]["last_passing"]) == ("a..b", None)
    assert answer.json["fixed"] == answer.json["flaky"] == answer.json["not_run"] == []
    for path in (f"{uuid4()}/compare", f"{build}/compare?base={uuid4()}"):
        unknown = await client("GET", f"/api/v1/apps/builds/{path}")
        assert (unknown.status, unknown.json["detail"]) == (404, "Build not found")


async def test_screens_are_compared_with_the_base_of_the_comparison(client: Client, backends: FakeBackends) -> None:
    build, base, foreign = (str(uuid4()) for _ in range(3))
    app = apps_pb2.App(id=str(uuid4()), revision=12)
    script_apps(backends, app)
    apps = {build: app.id, base: app.id, foreign: str(uuid4())}
    backends.on(
        "BatchGetBuilds",
        lambda request: builds_pb2.BatchGetBuildsResponse(
            builds=[builds_pb2.Build(id=id_, app_id=apps[id_]) for id_ in request.version_ids if id_ in apps]
        ),
    )
    backends.on("FindBaseBuild", lambda _: reports_pb2.ComparedBuild(build_id=base))
    backends.on("CompareScreens", lambda request: screens_pb2.ScreenComparison(summary=[request.base]))
    backends.on("ListScreens", lambda _: screens_pb2.ListScreensResponse(runs=3))
    path = f"/api/v1/apps/builds/{build}/screen_changes"
    for query in ("?base_branch=develop", f"?base={base}"):
        assert (await client("GET", path + query)).json["summary"] == [base]
    [request] = backends.requests("FindBaseBuild")
    assert (request.version_id, request.min_app_revision, request.base_branch) == (build, 12, "develop")
    listed = await client("GET", f"/api/v1/apps/{app.id}/screens?build={build}")
    assert (listed.status, listed.json["runs"], listed.json["items"]) == (200, 3, [])
    for other in (f"{path}?base={foreign}", f"/api/v1/apps/{app.id}/screens?build={foreign}"):
        refused = await client("GET", other)
        assert (refused.status, "of another app" in str(refused.json["detail"])) == (422, True)
    for unknown in (f"{path}?base={uuid4()}", f"/api/v1/apps/{uuid4()}/screens"):
        assert (await client("GET", unknown)).status == 404
