"""Reports as messages of the contract."""

from collections.abc import Mapping, Sequence

from mobiletest.catalog.v1 import tests_pb2
from mobiletest.reporting.v1 import reports_pb2
from mobiletest.types.v1 import quarantine_pb2, source_position_pb2

from services.chassis.proto_values import to_enum_number, to_timestamp
from services.chassis.turns import in_turns
from services.reporting.failure_messages import triage_message
from services.reporting.model.cells import GROUPS_SHOWN
from services.reporting.model.reports.apps import AppStats, BuildHealth, ReportedWorkspace, TrendPoint
from services.reporting.model.reports.coverage import Coverage, CoverageItem, CoverageState
from services.reporting.model.reports.matrix import Matrix, MatrixCell, MatrixRow, VariantCell
from services.reporting.model.snapshots import Outcome, Quarantine, SourcePosition
from services.reporting.model.tables import Cell, Group
from services.reporting.proto_enums import CATEGORY_NUMBER, CLASSIFICATION, PLATFORM
from services.reporting.usecases.classified_tests import ClassifiedQuery

VARIANTS_SHOWN = 10
# Together they bound the bytes of messages that are kept to 8 MiB; their cells are kept with them.
CELLS_KEPT, LARGEST_KEPT = 4096, 2048


def stats_message(stats: AppStats) -> reports_pb2.AppStats:
    return reports_pb2.AppStats(
        app_id=stats.app_id,
        recent_executions=stats.recent_executions,
        rolling_pass_rate=stats.rolling_pass_rate,
        attribution_ready=stats.attribution_ready,
        recent_runs=stats.recent_runs,
    )


def workspace_message(workspace: ReportedWorkspace) -> reports_pb2.AppWorkspace:
    """Without what the gateway adds from the catalog."""
    stats = workspace.stats
    return reports_pb2.AppWorkspace(
        recent_executions=stats.recent_executions,
        rolling_pass_rate=stats.rolling_pass_rate,
        attribution_ready=stats.attribution_ready,
        recent_runs=stats.recent_runs,
        execution_trend=map(_trend_point, workspace.trend),
        build_health=map(_build_health, workspace.build_health),
    )


def _trend_point(point: TrendPoint) -> reports_pb2.AppExecutionTrendPoint:
    return reports_pb2.AppExecutionTrendPoint(
        date=point.day.isoformat(),
        executions=point.executions,
        passed=point.passed,
        failed=point.failed,
        infra_failed=point.infra_failed,
    )


def _build_health(health: BuildHealth) -> reports_pb2.AppBuildHealthItem:
    return reports_pb2.AppBuildHealthItem(
        build_id=health.build.build_id,
        version=health.build.version,
        uploaded_at=to_timestamp(health.build.uploaded_at),
        observed_tests=health.observed_tests,
        passed_tests=health.passed_tests,
        failed_tests=health.failed_tests,
        coverage_rate=health.coverage_rate,
        exact_runs=health.exact_runs,
        completed_runs=health.completed_runs,
        passed_runs=health.passed_runs,
        failed_runs=health.failed_runs,
        pass_rate=health.pass_rate,
        infra_failed_runs=health.infra_failed_runs,
        branch=health.branch,
        commit_sha=health.commit_sha,
    )


async def matrix_message(app_id: str, matrix: Matrix, page: int, page_size: int) -> reports_pb2.TestMatrix:
    message = reports_pb2.TestMatrix(
        app_id=app_id,
        builds=[
            reports_pb2.MatrixBuild(
                build_id=build.build_id, version=build.version, uploaded_at=to_timestamp(build.uploaded_at)
            )
            for build in matrix.builds
        ],
        build_count=len(matrix.builds),
        test_count=len(matrix.rows),
        total_builds=matrix.total_builds,
        page=page,
        page_size=page_size,
        triages=[
            reports_pb2.TriagedFailure(fingerprint=fingerprint, triage=triage_message(triage))
            for fingerprint, triage in sorted(matrix.triages.items())
        ],
    )
    async for row in in_turns(matrix.rows):
        message.tests.append(_matrix_row(row))
    return message


def _matrix_row(row: MatrixRow) -> reports_pb2.MatrixTest:
    return reports_pb2.MatrixTest(
        test_id=row.test_id,
        test_name=row.test_name,
        cells=map(_CELL_MESSAGES.read, row.cells),
        flaky_score=row.flaky_score,
        classification=to_enum_number(reports_pb2.Classification, row.classification),
        classification_detail=row.classification_detail,
        quarantine=quarantine_message(row.quarantine),
    )


class _CellMessages:
    """Messages of the cells that were shown last, by identity: a cell that did not change is the same object."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str, str], tuple[Cell, reports_pb2.MatrixCell]] = {}

    def read(self, matrix_cell: MatrixCell) -> reports_pb2.MatrixCell:
        """The message of a cell; nobody may change it. Few tests have several variants, which are not kept."""
        worst, *others = matrix_cell.variants
        if others:
            return _matrix_cell(matrix_cell)
        key = (id(worst.cell), matrix_cell.build.version, worst.label)
        if kept := self._kept.get(key):
            return kept[1]
        message = _matrix_cell(matrix_cell)
        if message.ByteSize() <= LARGEST_KEPT:
            self._kept[key] = (worst.cell, message)
            if len(self._kept) > CELLS_KEPT:
                del self._kept[next(iter(self._kept))]
        return message


_CELL_MESSAGES = _CellMessages()


def _matrix_cell(matrix_cell: MatrixCell) -> reports_pb2.MatrixCell:
    """All runs count, whatever their variant; the failures of the worst variant come first."""
    cells = [variant.cell for variant in matrix_cell.variants]
    failures = [(variant.label, group) for variant in matrix_cell.variants for group in variant.cell.groups]
    passed, failed = sum(cell.passed for cell in cells), sum(cell.failed for cell in cells)
    infra_failed, cancelled = sum(cell.infra_failed for cell in cells), sum(cell.cancelled for cell in cells)
    last = max((cell.last_run for cell in cells if cell.last_run), key=lambda run: run.recency, default=None)
    return reports_pb2.MatrixCell(
        build_id=matrix_cell.build.build_id,
        build_version=matrix_cell.build.version,
        total_runs=passed + failed + infra_failed + cancelled,
        passed_runs=passed,
        failed_runs=failed,
        cancelled_runs=cancelled,
        infra_failed_runs=infra_failed,
        last_run_at=to_timestamp(last.ended_at) if last else None,
        top_failure_reason=failures[0][1].reason if failures else None,
        failure_details=[_failure_group(group, label) for label, group in failures[:GROUPS_SHOWN]],
        test_version_number=max(cell.test_version for cell in cells) or None,
        latest_execution_id=last.execution_id if last else None,
        variants=[_cell_variant(variant) for variant in matrix_cell.variants[:VARIANTS_SHOWN] if variant.label],
    )


def _cell_variant(variant: VariantCell) -> reports_pb2.CellVariant:
    verdict = variant.cell.verdict
    return reports_pb2.CellVariant(
        variant=variant.label,
        success=verdict.outcome is Outcome.PASSED if verdict else None,
        latest_execution_id=variant.cell.last_run.execution_id if variant.cell.last_run else None,
        passed_runs=variant.cell.passed,
        failed_runs=variant.cell.failed,
    )


def _failure_group(group: Group, label: str) -> reports_pb2.FailureGroup:
    return reports_pb2.FailureGroup(
        fingerprint=group.fingerprint,
        category=CATEGORY_NUMBER.get(group.category, CATEGORY_NUMBER["unknown"]),
        reason=group.reason,
        sample_message=group.sample_message,
        count=group.count,
        first_seen_at=to_timestamp(group.first_seen_at),
        last_seen_at=to_timestamp(group.last_seen_at),
        example_execution_id=group.execution_id,
        step_index=group.step_index,
        variant=label or None,
        position=_position(group.position) if group.position else None,
    )


def _position(position: SourcePosition) -> source_position_pb2.SourcePosition:
    file, line, column = position
    return source_position_pb2.SourcePosition(file=file, line=line, column=column)


async def coverage_message(app_id: str, coverage: Coverage) -> reports_pb2.AppCoverage:
    message = reports_pb2.AppCoverage(
        app_id=app_id,
        current_build_version=coverage.current.version if coverage.current else None,
        latest_build_version=coverage.newest.version if coverage.newest else None,
        total=len(coverage.items),
    )
    async for item in in_turns(coverage.items):
        message.items.append(_coverage_item(item))
    return message


def _coverage_item(item: CoverageItem) -> reports_pb2.CoverageItem:
    pinned = item.pinned_version is not None
    state, observed = item.state, item.observed
    return reports_pb2.CoverageItem(
        test_id=item.test_id,
        test_name=item.test_name,
        relationship=tests_pb2.RELATIONSHIP_PINNED if pinned else tests_pb2.RELATIONSHIP_ATTACHED,
        pinned_version=item.pinned_version,
        target_build_version=item.target_version,
        last_status=to_enum_number(reports_pb2.LastStatus, state.status),
        last_execution_time=to_timestamp(state.at),
        last_execution_id=state.execution_id,
        last_duration_seconds=state.seconds,
        last_observed_build_id=observed.id if observed else None,
        last_observed_build_version=observed.version if observed else None,
        quarantine=quarantine_message(item.quarantine),
        ran=item.ran,
        target_build_id=item.target_build_id,
        past_result=_past_result(item.past) if item.past else None,
    )


def _past_result(state: CoverageState) -> reports_pb2.PastResult:
    return reports_pb2.PastResult(
        status=to_enum_number(reports_pb2.LastStatus, state.status),
        time=to_timestamp(state.at),
        execution_id=state.execution_id,
    )


def add_quarantines(
    items: Sequence[reports_pb2.BuildRunItem], quarantines: Mapping[str, Quarantine]
) -> Sequence[reports_pb2.BuildRunItem]:
    """The items, each with the quarantine of its test, if that has one."""
    for item in items:
        if item.test_id in quarantines:
            item.quarantine.CopyFrom(_quarantine(quarantines[item.test_id]))
    return items


def quarantine_message(quarantine: Quarantine | None) -> quarantine_pb2.Quarantine | None:
    """The quarantine; None stays None."""
    return _quarantine(quarantine) if quarantine else None


def _quarantine(quarantine: Quarantine) -> quarantine_pb2.Quarantine:
    return quarantine_pb2.Quarantine(
        reason=quarantine.reason,
        until=to_timestamp(quarantine.until),
        by=quarantine.by,
        since=to_timestamp(quarantine.since),
    )


def classified_query(request: reports_pb2.ListClassifiedTestsRequest) -> ClassifiedQuery:
    """Which tests are asked for; an empty search or tag selects nothing."""
    return ClassifiedQuery(
        CLASSIFICATION[request.classification],
        app_id=request.app_id.lower() or None,
        search=request.search or None,
        platform=PLATFORM.get(request.platform),
        tag=request.tag or None,
        quarantined=request.quarantined,
    )
