"""Events in over Kafka, reports out over gRPC."""

from typing import Any
from uuid import uuid4

import grpc
import pytest
from mobiletest.reporting.v1 import reports_pb2 as pb
from mobiletest.types.v1 import execution_pb2 as types

from services.chassis.context import ALL_SCOPES, Caller, bind
from tests.eventually import eventually
from tests.fakes.reporting_event_log import EventLog, with_duplicates
from tests.integration.reporting.conftest import Service

pytestmark = pytest.mark.asyncio(loop_scope="session")
ID = str(uuid4())


async def told(service: Service, desk: EventLog) -> tuple[str, str]:
    """Publish an app with two builds, two tests and some runs, everything twice; gives newest build and a test."""
    old, new, test, other = (str(uuid4()) for _ in range(4))
    events = [desk.build(old, "1.0", age=3), desk.build(new, "1.1"), desk.attachment(test, "Log in")]
    events += [desk.attachment(other, "Pay"), desk.app()]
    for ending in ("passed", "failed", "infra", "cancelled"):
        events += desk.life((new, "1.1"), test, ending)
    events += desk.life((old, "1.0"), other, "passed")
    await service.publish(*with_duplicates(events))
    await service.applied()
    assert await service.executions(desk.app_id) == 5
    return new, test


async def test_stats_and_workspace(service: Service, desk: EventLog) -> None:
    build_id, _ = await told(service, desk)
    workspace = await service.reports.GetAppWorkspace(pb.GetAppWorkspaceRequest(app_id=desk.app_id))
    assert len(workspace.execution_trend) == 14
    assert (workspace.recent_executions, workspace.attribution_ready) == (5, True)
    assert workspace.rolling_pass_rate == 2 / 3
    newest = workspace.build_health[0]
    assert (newest.build_id, newest.version) == (build_id, "1.1")
    assert (newest.exact_runs, newest.completed_runs, newest.passed_runs, newest.failed_runs) == (4, 2, 1, 1)
    assert (newest.infra_failed_runs, newest.observed_tests, newest.coverage_rate) == (1, 1, 0.5)
    assert sum(point.executions for point in workspace.execution_trend) == 5


async def test_matrix_and_coverage(service: Service, desk: EventLog) -> None:
    build_id, test_id = await told(service, desk)
    matrix = await service.reports.GetTestMatrix(pb.GetTestMatrixRequest(app_id=desk.app_id))
    assert (matrix.page, matrix.page_size, matrix.total_builds) == (1, 10, 2)
    assert (matrix.build_count, matrix.test_count) == (2, 2)
    row = next(test for test in matrix.tests if test.test_id == test_id)
    (cell,) = row.cells
    assert (cell.build_id, cell.total_runs, cell.failed_runs, cell.infra_failed_runs) == (build_id, 4, 1, 1)
    assert cell.top_failure_reason == 'No "Buy" after <time>'
    assert cell.failure_details[0].category == types.FAILURE_CATEGORY_ELEMENT_NOT_FOUND
    assert row.classification == pb.CLASSIFICATION_FLAKY
    assert row.classification_detail.startswith("Passed and failed on the same code in 1 of 1 build")
    coverage = await service.reports.GetAppCoverage(pb.GetAppCoverageRequest(app_id=desk.app_id))
    by_name = {item.test_name: item for item in coverage.items}
    assert (coverage.total, coverage.latest_build_version) == (2, "1.1")
    assert not coverage.HasField("current_build_version")
    assert by_name["Pay"].last_status == pb.LAST_STATUS_NOT_RUN
    assert by_name["Pay"].last_observed_build_version == "1.0"
    assert by_name["Log in"].last_status != pb.LAST_STATUS_NOT_RUN


async def test_run_lists(service: Service, desk: EventLog) -> None:
    build_id, test_id = await told(service, desk)
    first = await service.reports.ListBuildRuns(pb.ListBuildRunsRequest(version_id=build_id, page_size=3))
    assert (first.total, first.total_pages, first.has_next, first.has_previous) == (4, 2, True, False)
    second = await service.reports.ListBuildRuns(pb.ListBuildRunsRequest(version_id=build_id, page_size=3, page=2))
    assert (len(second.items), second.has_next, second.has_previous) == (1, False, True)
    assert len({item.run_id for item in (*first.items, *second.items)}) == 4
    runs = await service.reports.ListTestRuns(pb.ListTestRunsRequest(test_id=test_id))
    assert {item.run_id for item in runs.items} == {item.run_id for item in (*first.items, *second.items)}
    assert runs.page_size == 20
    upper = await service.reports.ListBuildRuns(pb.ListBuildRunsRequest(version_id=build_id.upper()))
    assert upper.total == 4
    passed = await service.reports.ListTestRuns(pb.ListTestRunsRequest(test_id=test_id, result="RUN_RESULT_PASSED"))
    assert {item.run_id for item in passed.items} == {item.run_id for item in runs.items if item.success}
    assert passed.total == len(passed.items) > 0


async def test_another_organisation_finds_nothing(service: Service, desk: EventLog) -> None:
    build_id, _ = await told(service, desk)
    with bind(Caller(str(uuid4()), scopes=ALL_SCOPES)):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.reports.GetAppWorkspace(pb.GetAppWorkspaceRequest(app_id=desk.app_id))
        runs = await service.reports.ListBuildRuns(pb.ListBuildRunsRequest(version_id=build_id))
    assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.NOT_FOUND, "App not found")
    assert runs.total == 0


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("GetAppWorkspace", {"app_id": ID, "trend_days": 6}),
        ("GetAppWorkspace", {"app_id": ID, "trend_days": 61}),
        ("GetTestMatrix", {"app_id": ID, "page_size": 1}),
        ("GetTestMatrix", {"app_id": ID, "page_size": 51}),
        ("GetTestMatrix", {"app_id": ID, "page": 0}),
        ("GetAppCoverage", {"app_id": "no-uuid"}),
        ("ListBuildRuns", {"version_id": ID, "page_size": 101}),
        ("ListTestRuns", {"test_id": ID, "page_size": 0}),
        ("ListTestRuns", {"test_id": ID, "result": 0}),
        ("ListBuildRuns", {"version_id": ID, "result": 9}),
        ("GetGate", {"execution_id": "x"}),
        ("GetGate", {"execution_id": ID, "base_branch": ""}),
        ("CompareBuilds", {"version_id": "x"}),
        ("CompareBuilds", {"version_id": ID, "base": "x"}),
        ("ListClassifiedTests", {}),
        ("ListClassifiedTests", {"classification": 7}),
        ("ListClassifiedTests", {"classification": 1, "page": 0}),
        ("ListClassifiedTests", {"classification": 1, "page_size": 501}),
        ("ListClassifiedTests", {"classification": 1, "app_id": "no-uuid"}),
        ("ListClassifiedTests", {"classification": 1, "search": "x" * 1001}),
    ],
)
async def test_bounds(service: Service, method: str, values: dict[str, Any]) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await getattr(service.reports, method)(getattr(pb, f"{method}Request")(**values))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


async def test_callers_read_their_own_writes(service: Service, desk: EventLog) -> None:
    """The request comes before the event and waits; on a machine too slow for that, the next one does."""
    desk.revision = 4
    await service.publish(desk.build(str(uuid4()), "1.0"), desk.app())
    request = pb.GetTestMatrixRequest(app_id=desk.app_id, min_app_revision=5)

    async def read() -> bool:
        return bool((await service.reports.GetTestMatrix(request)).total_builds == 1)

    await eventually(read)
