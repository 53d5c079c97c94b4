"""The gRPC service Reports."""

# ruff: noqa: N802 (gRPC names the methods)

from collections.abc import Sequence
from time import monotonic
from typing import Any

from mobiletest.reporting.v1 import reports_pb2, reports_pb2_grpc

from services.chassis.errors import Unavailable
from services.chassis.proto_values import page_fields, read_optional, to_enum_member, to_enum_number
from services.chassis.turns import discard, list_in_turns
from services.reporting.branch_messages import branch_filter, branch_message, health_message
from services.reporting.duration_messages import duration_message, flaky_test_message
from services.reporting.failure_messages import failure_details_message, failure_filter, failures_message
from services.reporting.gate_messages import (
    build_gate_message,
    compared_build_message,
    comparison_message,
    gate_message,
)
from services.reporting.messages import (
    add_quarantines,
    classified_query,
    coverage_message,
    matrix_message,
    quarantine_message,
    stats_message,
    workspace_message,
)
from services.reporting.model.reports.app_health import AppOrder
from services.reporting.model.snapshots import RunResult
from services.reporting.ports import RowPage
from services.reporting.usecases.app_health import AppHealths
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.branches import AppBranches
from services.reporting.usecases.classified_tests import ClassifiedTests, Quarantines
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.durations import Durations
from services.reporting.usecases.failures import FailureReports, FailuresPage
from services.reporting.usecases.flaky_tests import FlakyTests
from services.reporting.usecases.gate import USUAL_BASE_BRANCH, BuildGates, GateRequest, Gates
from services.reporting.usecases.report_sources import ReportSources
from services.reporting.usecases.run_lists import RunLists, RunsPage
from services.reporting.usecases.test_reports import TestReports

# See DeadlineGuard.
ANSWER_SECONDS = 20.0


class ReportsServicer(reports_pb2_grpc.ReportsServicer):
    """See the proto."""

    def __init__(self, sources: ReportSources) -> None:
        self._apps = AppReports(sources)
        self._tests = TestReports(sources)
        self._branches = AppBranches(sources)
        self._flaky = FlakyTests(sources)
        self._durations = Durations(sources)
        self._healths = AppHealths(sources)
        self._runs = RunLists(sources.read_models)
        self._classified = ClassifiedTests(sources)
        self._quarantines = Quarantines(sources.tests, sources.clock)
        self._failures = FailureReports(sources)
        self._comparisons = Comparisons(sources)
        self._gates = Gates(sources)
        self._build_gates = BuildGates(sources)

    async def BatchGetAppStats(
        self, request: reports_pb2.BatchGetAppStatsRequest, context: Any
    ) -> reports_pb2.BatchGetAppStatsResponse:
        stats = await self._apps.stats(request.app_ids)
        return reports_pb2.BatchGetAppStatsResponse(stats=map(stats_message, stats))

    async def GetAppWorkspace(
        self, request: reports_pb2.GetAppWorkspaceRequest, context: Any
    ) -> reports_pb2.AppWorkspace:
        workspace = await self._apps.workspace(
            request.app_id.lower(), request.trend_days, _revision(request), build_id=request.build_id.lower() or None
        )
        return workspace_message(workspace)

    async def GetTestMatrix(self, request: reports_pb2.GetTestMatrixRequest, context: Any) -> reports_pb2.TestMatrix:
        matrix = await self._apps.matrix(request.app_id.lower(), _page(request), _revision(request))
        message = await matrix_message(request.app_id.lower(), matrix, request.page, request.page_size)
        await discard(matrix.rows)
        return message

    async def GetAppCoverage(self, request: reports_pb2.GetAppCoverageRequest, context: Any) -> reports_pb2.AppCoverage:
        coverage = await self._apps.coverage(request.app_id.lower(), _revision(request))
        return await coverage_message(request.app_id.lower(), coverage)

    async def GetTestReport(self, request: reports_pb2.GetTestReportRequest, context: Any) -> reports_pb2.TestReport:
        app_id, test_id = request.app_id.lower(), request.test_id.lower()
        report = await self._tests.of(app_id, test_id, read_optional(request, "variant_id"), _revision(request))
        quarantines = await self._quarantines.of({test_id})
        return reports_pb2.TestReport(
            app_id=app_id,
            test_id=test_id,
            flaky_score=report.assessment.score,
            classification=to_enum_number(reports_pb2.Classification, report.assessment.classification),
            classification_detail=report.detail,
            quarantine=quarantine_message(quarantines.get(test_id)),
            runs=map(reports_pb2.BuildRunItem.FromString, report.runs),
        )

    async def ListAppHealth(
        self, request: reports_pb2.ListAppHealthRequest, context: Any
    ) -> reports_pb2.ListAppHealthResponse:
        app_ids = dict.fromkeys(app_id.lower() for app_id in request.app_ids)
        order = to_enum_member(AppOrder, reports_pb2.AppOrder, request.sort) or AppOrder.HEALTH
        healths = await self._healths.list(app_ids, _page(request), order)
        items = map(health_message, healths.items)
        return reports_pb2.ListAppHealthResponse(
            items=items, pending=healths.pending, **page_fields(request, len(app_ids))
        )

    async def ListAppBranches(
        self, request: reports_pb2.ListAppBranchesRequest, context: Any
    ) -> reports_pb2.ListAppBranchesResponse:
        branches = await self._branches.list(
            request.app_id.lower(), branch_filter(request), _page(request), _revision(request)
        )
        items = await list_in_turns(branch_message(key, row, branches) for key, row in branches.branches)
        return reports_pb2.ListAppBranchesResponse(items=items, **page_fields(request, branches.total))

    async def ListFailures(
        self, request: reports_pb2.ListFailuresRequest, context: Any
    ) -> reports_pb2.ListFailuresResponse:
        filter = failure_filter(request)
        page = await self._failures.page(filter, _page(request)) if filter else FailuresPage()
        return failures_message(request, page)

    async def GetFailure(self, request: reports_pb2.GetFailureRequest, context: Any) -> reports_pb2.FailureDetails:
        key = (request.app_id.lower(), request.fingerprint)
        return failure_details_message(await self._failures.get(key, _revision(request)))

    async def ListFlakyTests(
        self, request: reports_pb2.ListFlakyTestsRequest, context: Any
    ) -> reports_pb2.ListFlakyTestsResponse:
        flaky = await self._flaky.list(_page(request), request.app_id.lower() or None)
        items = map(flaky_test_message, flaky.tests)
        fields = page_fields(request, flaky.total)
        return reports_pb2.ListFlakyTestsResponse(items=items, listed_all=flaky.listed_all, **fields)

    async def ListTestDurations(
        self, request: reports_pb2.ListTestDurationsRequest, context: Any
    ) -> reports_pb2.ListTestDurationsResponse:
        durations = await self._durations.of_app(
            request.app_id.lower(), _page(request), builds=request.builds, min_revision=_revision(request)
        )
        items = await list_in_turns(map(duration_message, durations.tests))
        return reports_pb2.ListTestDurationsResponse(items=items, **page_fields(request, durations.total))

    async def ListBuildRuns(
        self, request: reports_pb2.ListBuildRunsRequest, context: Any
    ) -> reports_pb2.ListBuildRunsResponse:
        runs = await self._runs.of_build(request.version_id.lower(), _page(request), _result(request))
        return reports_pb2.ListBuildRunsResponse(items=await self._items(runs), **page_fields(request, runs.total))

    async def ListTestRuns(
        self, request: reports_pb2.ListTestRunsRequest, context: Any
    ) -> reports_pb2.ListTestRunsResponse:
        runs = await self._runs.of_test(request.test_id.lower(), _page(request), _result(request))
        return reports_pb2.ListTestRunsResponse(items=await self._items(runs), **page_fields(request, runs.total))

    async def ListClassifiedTests(
        self, request: reports_pb2.ListClassifiedTestsRequest, context: Any
    ) -> reports_pb2.ListClassifiedTestsResponse:
        tests_page = await self._classified.list(classified_query(request), _page(request))
        return reports_pb2.ListClassifiedTestsResponse(total=tests_page.total, test_ids=tests_page.test_ids)

    async def CompareBuilds(
        self, request: reports_pb2.CompareBuildsRequest, context: Any
    ) -> reports_pb2.BuildComparison:
        comparison = await self._comparisons.compare(
            request.version_id.lower(), request.base.lower() or None, _revision(request), request.base_branch
        )
        return await comparison_message(comparison)

    async def FindBaseBuild(self, request: reports_pb2.FindBaseBuildRequest, context: Any) -> reports_pb2.ComparedBuild:
        base = await self._comparisons.base_of(request.version_id.lower(), _revision(request), request.base_branch)
        return compared_build_message(base)

    async def GetGate(self, request: reports_pb2.GetGateRequest, context: Any) -> reports_pb2.Gate:
        gate_request = GateRequest(
            request.execution_id.lower(),
            request.base_branch or USUAL_BASE_BRANCH,
            min_ended=read_optional(request, "min_ended_runs"),
            total=read_optional(request, "total_runs"),
        )
        return await gate_message(await self._gates.of(gate_request))

    async def GetBuildGate(self, request: reports_pb2.GetBuildGateRequest, context: Any) -> reports_pb2.BuildGate:
        gate = await self._build_gates.of(request.version_id.lower(), request.base_branch, _revision(request))
        return await build_gate_message(gate)

    async def _items(self, runs: RunsPage) -> Sequence[reports_pb2.BuildRunItem]:
        items = await list_in_turns(map(reports_pb2.BuildRunItem.FromString, runs.items))
        quarantines = await self._quarantines.of({item.test_id for item in items})
        return add_quarantines(items, quarantines)


class DeadlineGuard:
    """A servicer that answers in time or not at all.

    A process that is suspended during a call may resume when the generation that it reads was dropped. It would find
    nothing there, and must not answer that there is nothing.
    """

    def __init__(self, servicer: object, seconds: float = ANSWER_SECONDS) -> None:
        self._servicer = servicer
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        method: Any = getattr(self._servicer, name)

        async def guarded(request: Any, context: Any) -> Any:
            began = monotonic()
            answer = await method(request, context)
            if monotonic() - began > self._seconds:
                raise Unavailable("The answer took too long, try again", reason="ANSWER_TOO_LATE", retry_after=1.0)
            return answer

        return guarded


def _revision(request: Any) -> Any:
    return read_optional(request, "min_app_revision")


def _result(request: reports_pb2.ListBuildRunsRequest | reports_pb2.ListTestRunsRequest) -> RunResult | None:
    return to_enum_member(RunResult, reports_pb2.RunResult, request.result)


def _page(request: Any) -> RowPage:
    return RowPage((request.page - 1) * request.page_size, request.page_size)
