"""The read models computed from scratch, in the plainest way: what every fold must equal.

Used by the tests: nothing that serves calls it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta

from services.reporting.model import counters
from services.reporting.model.app_failures import AppFailure, FailureSighting
from services.reporting.model.attempts import BuildRef, newer_build, retained_attempts
from services.reporting.model.batch import Batch, Snapshot, run_row
from services.reporting.model.cells import GROUPS_SHOWN, failure_group
from services.reporting.model.list_positions import count_in_list, day_of, list_counters
from services.reporting.model.projection import DEFAULT_RULES, ProjectionRules, decided_attempts
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome, RunSnapshot, Status
from services.reporting.model.sources import (
    BUILDS_KEPT,
    BranchBuild,
    BranchKey,
    BranchRow,
    BranchRun,
    BuildSource,
    BuildSourceKey,
    NamedText,
    SourceRevision,
)
from services.reporting.model.storms import is_storm
from services.reporting.model.tables import (
    Active,
    Cell,
    CellKey,
    EndedRun,
    ExecutionRow,
    FailureKey,
    Group,
    History,
    HistoryKey,
    LastRun,
    NamedVerdict,
    Table,
    Tables,
)
from tests.fakes.reporting_attempts import assess


def recount(told: Iterable[Snapshot], rules: ProjectionRules = DEFAULT_RULES) -> Tables:
    """The read models of everything that was told, in any order, with any duplicates."""
    batch = Batch.of(told)
    runs = list(batch.runs.values())
    executions = _executions(batch, rules)
    return Tables(
        runs=Table((run.run_id, run_row(run)) for run in runs),
        executions=executions,
        counters=_counters(batch, executions),
        cells=Table((key, _cell(those)) for key, those in _by_cell(runs).items()),
        groups=Table(
            ((*key, group.fingerprint), group) for key, those in _by_cell(runs).items() for group in _groups(those)
        ),
        histories=Table((key, _history(those, executions, rules)) for key, those in _by_history(runs).items()),
        apps=Table(batch.apps.items()),
        builds=Table(batch.builds.items()),
        tests=Table(batch.tests.items()),
        attachments=Table(batch.attachments.items()),
        build_sources=_build_sources(runs),
        branches=_branches(runs),
        failures=Table((key, _failure(those)) for key, those in _by_failure(runs).items()),
        triages=Table(batch.triages.items()),
    )


def _build_sources(runs: Sequence[RunSnapshot]) -> Table[BuildSourceKey, BuildSource]:
    by_build: dict[BuildSourceKey, list[RunSnapshot]] = {}
    for run in _finished(runs):
        if run.app_id and run.build and (run.branch, run.commit_sha, run.repository) != (None, None, None):
            by_build.setdefault((run.app_id, run.build.id), []).append(run)
    return Table(
        (key, BuildSource(those[0].org_id, _named(those), _newest_text(those, "repository")))
        for key, those in by_build.items()
    )


def _branches(runs: Sequence[RunSnapshot]) -> Table[BranchKey, BranchRow]:
    by_branch: dict[BranchKey, list[RunSnapshot]] = {}
    for run in _finished(runs):
        for kind, name in (("any", ""), ("branch", run.branch), ("pull_request", run.pr_number)):
            if run.app_id and name is not None:
                by_branch.setdefault((run.app_id, kind, str(name)), []).append(run)
    return Table((key, _branch(key[1], those)) for key, those in by_branch.items())


def _branch(kind: str, runs: Sequence[RunSnapshot]) -> BranchRow:
    last = max(runs, key=_recency)
    assert last.outcome
    builds: dict[str, list[RunSnapshot]] = {}
    for run in runs:
        if run.build:
            builds.setdefault(run.build.id, []).append(run)
    newest = [
        BranchBuild(key, max(run.build.uploaded_at for run in those if run.build), _newest_text(those, "commit_sha"))
        for key, those in builds.items()
    ]
    return BranchRow(
        org_id=last.org_id,
        last_run=BranchRun(last.ended_at, last.run_id, last.execution_id, last.outcome),
        commit=_newest_text(runs, "commit_sha"),
        repository=_newest_text(runs, "repository"),
        ci_system=_newest_text(runs, "ci_system"),
        head=_newest_text(runs, "branch") if kind == "pull_request" else None,
        builds=tuple(sorted(newest, key=lambda build: build.order, reverse=True)[:BUILDS_KEPT]),
    )


def _newest_text(runs: Iterable[RunSnapshot], name: str) -> NamedText | None:
    run = max((run for run in runs if getattr(run, name) is not None), key=_recency, default=None)
    return NamedText(run.ended_at, run.run_id, getattr(run, name)) if run else None


def _finished(runs: Iterable[RunSnapshot]) -> list[RunSnapshot]:
    return [run for run in runs if run.outcome is not None]


def _by_cell(runs: Iterable[RunSnapshot]) -> dict[CellKey, list[RunSnapshot]]:
    by_cell: dict[CellKey, list[RunSnapshot]] = {}
    for run in runs:
        if run.app_id and run.build:
            by_cell.setdefault((run.app_id, run.subject, run.build.id), []).append(run)
    return by_cell


def _by_history(runs: Iterable[RunSnapshot]) -> dict[HistoryKey, list[RunSnapshot]]:
    by_history: dict[HistoryKey, list[RunSnapshot]] = {}
    for run in runs:
        if run.app_id and (run.outcome is not None or run.variant.id):
            by_history.setdefault((run.app_id, run.subject), []).append(run)
    return by_history


def _executions(batch: Batch, rules: ProjectionRules) -> Table[str, ExecutionRow]:
    by_execution: dict[str, list[RunSnapshot]] = {key: [] for key in batch.executions}
    for run in _finished(batch.runs.values()):
        by_execution.setdefault(run.execution_id, []).append(run)
    return Table((key, _execution(key, those, batch, rules)) for key, those in by_execution.items())


def _execution(
    execution_id: str, finished: Sequence[RunSnapshot], batch: Batch, rules: ProjectionRules
) -> ExecutionRow:
    told = batch.executions.get(execution_id)
    tested = {run.run_id: _tested(run) for run in finished if run.app_id}
    total = told.total if told else None
    ended = total is not None and (len(finished) >= total or total < rules.storm.tests)
    days: dict[str, date] = {}
    for run in finished:
        if run.app_id:
            days[run.app_id] = max(days.get(run.app_id, date.min), run.ended_at.date())
    return ExecutionRow(
        org_id=told.org_id if told else finished[0].org_id,
        revision=told.revision if told else -1,
        total=total,
        finished=len(finished),
        ended_runs={} if ended else tested,
        last_days=days,
        storm=is_storm(tested.values(), rules.storm) if ended else None,
    )


def _tested(run: RunSnapshot) -> EndedRun:
    group = failure_group(run)
    verdict = run.outcome is not None and run.outcome.verdict
    return EndedRun(run.app_id or "", run.subject, verdict, group.fingerprint if group else None)


def _counters(batch: Batch, executions: Table[str, ExecutionRow]) -> counters.Counters:
    table: counters.Counters = Table()
    for run in batch.runs.values():
        counters.add(table, run.org_id, counters.test(run.test_id), {"runs": 1})
        for name in list_counters(run_row(run)):
            count_in_list(table, run.org_id, name, run.listed_at, 1)
        if run.build:
            outcome = {run.outcome.value: 1} if run.outcome else {}
            counters.add(table, run.org_id, counters.build(run.build.id), {"runs": 1, **outcome})
        if run.app_id and run.outcome:
            _count_day(table, run.org_id, run.app_id, run.ended_at.date(), run.outcome.value)
            counters.add(table, run.org_id, counters.app_all(run.app_id), {"ended": 1, "attributed": bool(run.build)})
    for _, execution in executions.rows():
        for app_id, day in execution.last_days.items():
            _count_day(table, execution.org_id, app_id, day, "executions")
    for key, row in executions.rows():
        if row.storm:
            for app_id in {run.app_id for run in batch.runs.values() if run.execution_id == key and run.app_id}:
                counters.add(table, row.org_id, counters.app_all(app_id), {"storms": 1})
    changed: list[BuildSnapshot | AttachmentSnapshot] = [*batch.builds.values(), *batch.attachments.values()]
    for one in changed:
        counters.add(table, one.org_id, counters.app_all(one.app_id), {"changes": one.revision})
    for test in batch.tests.values():
        counters.add(table, test.org_id, counters.ORG_TESTS, {"deleted": int(test.deleted)})
    for build in batch.builds.values():
        if not build.deleted:
            counters.add(table, build.org_id, counters.app_all(build.app_id), {"builds": 1})
            counters.add(table, build.org_id, counters.app_builds(build.app_id), {day_of(build.uploaded_at): 1})
    return table


def _count_day(table: counters.Counters, org_id: str, app_id: str, day: date, name: str) -> None:
    counters.add(table, org_id, counters.app_month(app_id, day), {counters.day_field(day, name): 1})


def _cell(runs: Sequence[RunSnapshot]) -> Cell:
    finished = _finished(runs)
    last = max(finished, key=_recency, default=None)
    verdicts = [run for run in finished if run.outcome and run.outcome.verdict]
    outcomes = [run.outcome for run in finished]
    return Cell(
        org_id=runs[0].org_id,
        uploaded_at=max(run.build.uploaded_at for run in runs if run.build),
        passed=outcomes.count(Outcome.PASSED),
        failed=outcomes.count(Outcome.FAILED),
        infra_failed=outcomes.count(Outcome.INFRA_FAILED),
        cancelled=outcomes.count(Outcome.CANCELLED),
        test_version=max((run.test_version for run in finished), default=0),
        test_name=last.test_name if last else "",
        last_run=_last(last),
        verdict=_last(max(verdicts, key=_recency, default=None)),
        source_revision=_named(finished),
        named_verdict=_named_verdict(verdicts),
        active_runs={run.run_id: _active(run) for run in runs if run.outcome is None},
        groups=tuple(sorted(_groups(runs), key=lambda group: group.rank, reverse=True)[:GROUPS_SHOWN]),
        passed_ms=_took(finished, lambda run: run.outcome is Outcome.PASSED),
        failed_ms=_took(finished, lambda run: run.outcome is Outcome.FAILED),
        retried_ms=_took(
            finished,
            lambda run: run.outcome is Outcome.PASSED and False in {attempt.passed for attempt in run.attempts},
        ),
    )


def _took(runs: Iterable[RunSnapshot], counts: Callable[[RunSnapshot], bool]) -> int:
    return sum(round(run.seconds * 1000) for run in runs if run.seconds and counts(run))


def _recency(run: RunSnapshot) -> tuple[object, str]:
    return (run.ended_at, run.run_id)


def _last(run: RunSnapshot | None) -> LastRun | None:
    if run is None or run.outcome is None:
        return None
    changed = run.bindings_changed
    return LastRun(run.ended_at, run.run_id, run.execution_id, run.outcome, run.seconds, run.simulation, changed)


def _named(finished: Iterable[RunSnapshot]) -> SourceRevision | None:
    naming = [run for run in finished if run.branch is not None or run.commit_sha is not None]
    run = max(naming, key=lambda run: (run.branch is not None, *_recency(run)), default=None)
    return SourceRevision(run.ended_at, run.run_id, run.branch, run.commit_sha) if run else None


def _named_verdict(verdicts: Iterable[RunSnapshot]) -> NamedVerdict | None:
    run = max((run for run in verdicts if run.branch is not None), key=_recency, default=None)
    if run is None or run.branch is None or run.outcome is None:
        return None
    ended = (run.ended_at, run.run_id, run.execution_id, run.outcome, run.seconds)
    return NamedVerdict(*ended, run.branch, run.commit_sha)


def _active(run: RunSnapshot) -> Active:
    status = Status.RUNNING if run.status is Status.RUNNING else Status.QUEUED
    return Active(status, run.under_way_since, run.execution_id)


def _groups(runs: Iterable[RunSnapshot]) -> list[Group]:
    alone: dict[str, list[Group]] = {}
    for run in runs:
        if group := failure_group(run):
            alone.setdefault(group.fingerprint, []).append(group)
    return [_together(groups) for groups in alone.values()]


def _together(groups: Sequence[Group]) -> Group:
    newest = max(groups, key=lambda group: group.recency)
    return Group(
        org_id=newest.org_id,
        fingerprint=newest.fingerprint,
        category=newest.category,
        reason=newest.reason,
        count=len(groups),
        first_seen_at=min(group.first_seen_at for group in groups),
        last_seen_at=newest.last_seen_at,
        run_id=newest.run_id,
        execution_id=newest.execution_id,
        sample_message=newest.sample_message,
        step_index=newest.step_index,
        position=newest.position,
    )


def _by_failure(runs: Iterable[RunSnapshot]) -> dict[FailureKey, list[RunSnapshot]]:
    by_failure: dict[FailureKey, list[RunSnapshot]] = {}
    for run in runs:
        if run.app_id and (group := failure_group(run)):
            by_failure.setdefault((run.app_id, group.fingerprint), []).append(run)
    return by_failure


def _failure(runs: Sequence[RunSnapshot]) -> AppFailure:
    newest, first = max(runs, key=_recency), min(runs, key=_recency)
    group = failure_group(newest)
    assert group is not None
    builds = [run.build for run in runs if run.build]
    days = Counter(run.ended_at.date() for run in runs)
    oldest = max(days) - timedelta(days=59)
    return AppFailure(
        org_id=newest.org_id,
        category=group.category,
        reason=group.reason,
        sample_message=group.sample_message,
        count=len(runs),
        first=_sighting(first),
        last=_sighting(newest),
        newest_build=max(builds, key=lambda build: (*build.key, build.version), default=None),
        days=tuple((day.isoformat(), count) for day, count in sorted(days.items()) if day >= oldest),
        step_index=group.step_index,
        position=group.position,
    )


def _sighting(run: RunSnapshot) -> FailureSighting:
    build_id, version = (run.build.id, run.build.version) if run.build else (None, "")
    place = (run.test_id, run.test_name, build_id, version, run.branch)
    return FailureSighting(run.ended_at, run.run_id, run.execution_id, *place)


def _history(runs: Sequence[RunSnapshot], executions: Table[str, ExecutionRow], rules: ProjectionRules) -> History:
    attempts = []
    observed: BuildRef | None = None
    for run in _finished(runs):
        execution = executions.get(run.execution_id)
        attempts += decided_attempts(run, storm=execution.storm if execution else None)
        if run.build and run.outcome and run.outcome.verdict:
            observed = newer_build(observed, run.build)
    kept = retained_attempts(attempts, rules.flaky.window)
    return History(runs[0].org_id, kept, observed, assess(attempts, rules.flaky), runs[0].variant.values)
