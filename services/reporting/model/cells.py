"""Folding a run into its cell of the matrix, and its failure into the cell's groups."""

from dataclasses import replace
from datetime import datetime

from services.reporting.model.app_failures import AppFailure, FailureSighting
from services.reporting.model.fingerprint import fingerprint, normalise
from services.reporting.model.snapshots import Failure, Outcome, RunSnapshot, Status
from services.reporting.model.sources import newer_revision
from services.reporting.model.tables import Active, Cell, Group, LastRun, NamedVerdict

GROUPS_SHOWN = 5
SAMPLE_LENGTH = 1000
# Of the message of a failure in lists, which may have thousands.
MESSAGE_LENGTH = 500


def with_active(cell: Cell, run: RunSnapshot) -> Cell:
    """The cell with this unfinished run among the active ones."""
    status = Status.RUNNING if run.status is Status.RUNNING else Status.QUEUED
    active = Active(status, run.under_way_since, run.execution_id)
    return replace(cell, uploaded_at=_uploaded(cell, run), active_runs={**cell.active_runs, run.run_id: active})


def without_active(cell: Cell, run_id: str) -> Cell:
    """The cell without this active run."""
    return replace(cell, active_runs={key: value for key, value in cell.active_runs.items() if key != run_id})


def with_finished(cell: Cell, run: RunSnapshot, outcome: Outcome) -> Cell:
    """The cell with this finished run counted."""
    last = last_run(run, outcome)
    newest = cell.last_run is None or last.recency > cell.last_run.recency
    took = milliseconds(run)
    return Cell(  # a third of what `replace` takes
        cell.org_id,
        _uploaded(cell, run),
        passed=cell.passed + (outcome is Outcome.PASSED),
        failed=cell.failed + (outcome is Outcome.FAILED),
        infra_failed=cell.infra_failed + (outcome is Outcome.INFRA_FAILED),
        cancelled=cell.cancelled + (outcome is Outcome.CANCELLED),
        test_version=max(cell.test_version, run.test_version),
        test_name=run.test_name if newest else cell.test_name,
        last_run=last if newest else cell.last_run,
        verdict=_newer(cell.verdict, last) if outcome.verdict else cell.verdict,
        source_revision=newer_revision(cell.source_revision, run),
        named_verdict=_named_verdict(cell.named_verdict, run, outcome),
        active_runs=cell.active_runs,
        groups=cell.groups,
        passed_ms=cell.passed_ms + (took if outcome is Outcome.PASSED else 0),
        failed_ms=cell.failed_ms + (took if outcome is Outcome.FAILED else 0),
        retried_ms=cell.retried_ms + (took if passed_on_retry(run) else 0),
    )


def milliseconds(run: RunSnapshot) -> int:
    """How long the run took; 0 if that is not known."""
    return round(1000 * (run.seconds or 0))


def passed_on_retry(run: RunSnapshot) -> bool:
    """Whether it passed after an attempt that failed."""
    return run.outcome is Outcome.PASSED and any(attempt.passed is False for attempt in run.attempts)


def last_run(run: RunSnapshot, outcome: Outcome) -> LastRun:
    """The finished run as a cell stores it."""
    changed = run.bindings_changed
    return LastRun(run.ended_at, run.run_id, run.execution_id, outcome, run.seconds, run.simulation, changed)


def _named_verdict(known: NamedVerdict | None, run: RunSnapshot, outcome: Outcome) -> NamedVerdict | None:
    if run.branch is None or not outcome.verdict:
        return known
    ended = (run.ended_at, run.run_id, run.execution_id, outcome, run.seconds)
    named = NamedVerdict(*ended, run.branch, run.commit_sha)
    return named if known is None or named.recency > known.recency else known


def _uploaded(cell: Cell, run: RunSnapshot) -> datetime:
    """When the build was uploaded: the runs that know it agree."""
    return max(cell.uploaded_at, run.build.uploaded_at) if run.build else cell.uploaded_at


def _newer(known: LastRun | None, last: LastRun) -> LastRun:
    return last if known is None or last.recency > known.recency else known


def failure_group(run: RunSnapshot) -> Group | None:
    """The group of this run alone; None when it did not fail."""
    if run.outcome not in (Outcome.FAILED, Outcome.INFRA_FAILED):
        return None
    failure = run.last_failure or Failure("unknown", "")
    reason = normalise(failure.reason or failure.message) or failure.category
    return Group(
        org_id=run.org_id,
        fingerprint=fingerprint(failure.category, failure.step_kind, reason),
        category=failure.category,
        reason=reason,
        count=1,
        first_seen_at=run.ended_at,
        last_seen_at=run.ended_at,
        run_id=run.run_id,
        execution_id=run.execution_id,
        sample_message=failure.message[:SAMPLE_LENGTH],
        step_index=failure.step_index,
        position=failure.position,
    )


def app_failure(run: RunSnapshot, group: Group) -> AppFailure:
    """The failure of this run, in its group, as one of its app."""
    sighting = FailureSighting(
        at=run.ended_at,
        run_id=run.run_id,
        execution_id=run.execution_id,
        test_id=run.test_id,
        test_name=run.test_name,
        build_id=run.build.id if run.build else None,
        build_version=run.build.version if run.build else "",
        branch=run.branch,
    )
    return AppFailure(
        org_id=run.org_id,
        category=group.category,
        reason=group.reason,
        sample_message=group.sample_message,
        count=1,
        first=sighting,
        last=sighting,
        newest_build=run.build,
        days=((run.ended_at.date().isoformat(), 1),),
        step_index=group.step_index,
        position=group.position,
    )


def merge_groups(one: Group | None, other: Group) -> Group:
    """The sum of two groups with the same fingerprint."""
    if one is None:
        return other
    newest = max(one, other, key=lambda group: group.recency)
    first = min(one.first_seen_at, other.first_seen_at)
    return replace(newest, count=one.count + other.count, first_seen_at=first)


def with_group(cell: Cell, group: Group) -> Cell:
    """The cell with this group among its five largest, if it belongs there.

    The groups outside the five need not be read: counts only rise, so one that is left out comes back only when it
    changes itself.
    """
    others = [other for other in cell.groups if other.fingerprint != group.fingerprint]
    ranked = sorted([*others, group], key=lambda group: group.rank, reverse=True)
    return replace(cell, groups=tuple(ranked[:GROUPS_SHOWN]))
