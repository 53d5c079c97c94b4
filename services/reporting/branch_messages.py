"""Branches, and the health of apps, as messages of the contract."""

from mobiletest.reporting.v1 import reports_pb2

from services.chassis.proto_values import enum_spellings, read_optional, to_enum_number, to_timestamp
from services.reporting.gate_messages import compared_build_message
from services.reporting.model.reports.app_health import AppHealth
from services.reporting.model.reports.coverage import LastStatus
from services.reporting.model.snapshots import Outcome
from services.reporting.model.sources import BranchKey, BranchKind, BranchRow, NamedText
from services.reporting.usecases.branches import BranchesPage, BranchFilter

_KINDS = {number: BranchKind(text) for number, text in enum_spellings(reports_pb2.BranchKind.DESCRIPTOR).items()}
_STATUSES = {
    Outcome.PASSED: LastStatus.PASSED,
    Outcome.FAILED: LastStatus.FAILED,
    Outcome.CANCELLED: LastStatus.CANCELLED,
    Outcome.INFRA_FAILED: LastStatus.NO_VERDICT,
}


def branch_filter(request: reports_pb2.ListAppBranchesRequest) -> BranchFilter:
    """Which branches are asked for."""
    return BranchFilter(_KINDS.get(request.kind), request.search or None, read_optional(request, "name"))


def branch_message(key: BranchKey, branch: BranchRow, page: BranchesPage) -> reports_pb2.AppBranch:
    """A branch with those of its builds that the page knows."""
    return reports_pb2.AppBranch(
        kind=to_enum_number(reports_pb2.BranchKind, BranchKind(key[1])),
        name=key[2],
        last_run_at=to_timestamp(branch.last_run.ended_at),
        last_execution_id=branch.last_run.execution_id,
        last_status=outcome_number(branch.last_run.outcome),
        commit_sha=_text(branch.commit),
        repository=_text(branch.repository),
        ci_system=_text(branch.ci_system),
        head_branch=_text(branch.head),
        builds=[
            reports_pb2.AppBranchBuild(
                build_id=build.build_id,
                version=page.builds[build.build_id].version,
                uploaded_at=to_timestamp(page.builds[build.build_id].uploaded_at),
                commit_sha=_text(build.commit),
                repository=page.repositories.get(build.build_id),
            )
            for build in branch.builds
            if build.build_id in page.builds
        ],
    )


def outcome_number(outcome: Outcome) -> reports_pb2.LastStatus:
    """How a run ended, as the status of a test whose newest run it is."""
    number: reports_pb2.LastStatus = to_enum_number(reports_pb2.LastStatus, _STATUSES[outcome])
    return number


def _text(named: NamedText | None) -> str | None:
    return named.text if named else None


def health_message(health: AppHealth) -> reports_pb2.AppHealth:
    """Without what the gateway adds from the catalog."""
    counts = health.counts
    return reports_pb2.AppHealth(
        app_id=health.app_id,
        result=to_enum_number(reports_pb2.AppHealthResult, health.result),
        build=compared_build_message(health.build) if health.build else None,
        **{name: getattr(counts, name) for name in counts.__slots__},
        last_run_at=to_timestamp(health.last_run_at),
        last_execution_id=health.last_execution_id,
        last_status=outcome_number(health.last_outcome) if health.last_outcome else None,
    )
