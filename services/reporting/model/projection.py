"""Folds a batch of snapshots into the read models.

It runs in steps, because each one determines which rows the next one needs: `apply_runs`, `settle_storms`,
`required_rows`, then `contribute`. A row that is not in the tables is taken to be new. Duplicates, order and the
division into batches change nothing: a run contributes what its revision newly says, and counts once, when it ends.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from services.reporting.model import counters
from services.reporting.model.app_failures import merge_failures
from services.reporting.model.attempts import Attempt, BuildRef, newer_build, retained_attempts
from services.reporting.model.batch import Batch, ChangedRun, Snapshot, apply_runs
from services.reporting.model.cells import (
    app_failure,
    merge_groups,
    with_active,
    with_finished,
    with_group,
    without_active,
)
from services.reporting.model.flaky import FlakyRules, judge
from services.reporting.model.list_positions import day_of
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, RunSnapshot
from services.reporting.model.sources import (
    BranchKey,
    BuildSourceKey,
    branch_keys,
    build_source_key,
    with_run,
    with_source,
)
from services.reporting.model.storms import SettledStorms, StormRules, settle_storms
from services.reporting.model.tables import (
    EPOCH,
    Cell,
    CellKey,
    FailureKey,
    GroupKey,
    History,
    HistoryKey,
    Table,
    Tables,
)

K = TypeVar("K")
S = TypeVar("S", bound=Snapshot)

NO_BUILD = BuildRef(EPOCH, "")


@dataclass(frozen=True, slots=True)
class ProjectionRules:
    """The constants of the definitions in docs/flaky.md."""

    flaky: FlakyRules = field(default_factory=FlakyRules)
    storm: StormRules = field(default_factory=StormRules)


DEFAULT_RULES = ProjectionRules()


@dataclass(frozen=True, slots=True)
class RowKeys:
    """Keys of rows to load, by table."""

    runs: Collection[str] = ()
    executions: Collection[str] = ()
    apps: Collection[str] = ()
    builds: Collection[str] = ()
    tests: Collection[str] = ()
    attachments: Collection[tuple[str, str]] = ()
    cells: Collection[CellKey] = ()
    groups: Collection[GroupKey] = ()
    histories: Collection[HistoryKey] = ()
    build_sources: Collection[BuildSourceKey] = ()
    branches: Collection[BranchKey] = ()
    failures: Collection[FailureKey] = ()
    triages: Collection[FailureKey] = ()


def fold(tables: Tables, batch: Batch, rules: ProjectionRules = DEFAULT_RULES) -> None:
    """The whole fold, on tables that hold everything."""
    changes = apply_runs(tables, batch.runs.values())
    storms = settle_storms(tables, batch.executions.values(), changes, rules.storm)
    contribute(tables, changes, storms, rules)
    copy_catalog(tables, batch)


def batch_rows(batch: Batch) -> RowKeys:
    """The rows of everything in the batch, and of the executions of its runs."""
    return RowKeys(
        runs=batch.runs.keys(),
        executions={*batch.executions, *(run.execution_id for run in batch.runs.values())},
        apps=batch.apps.keys(),
        builds=batch.builds.keys(),
        tests=batch.tests.keys(),
        attachments=batch.attachments.keys(),
        triages=batch.triages.keys(),
    )


def required_rows(changes: Sequence[ChangedRun], storms: SettledStorms) -> RowKeys:
    """The rows that `contribute` reads."""
    cells: set[CellKey] = set()
    groups: set[GroupKey] = set()
    failures: set[FailureKey] = set()
    histories: set[HistoryKey] = set(storms)
    for change in changes:
        cell, former = change.cell, change.before.cell if change.before else None
        cells.update(key for key in (cell, former) if key)
        if cell and change.group:
            groups.add((*cell, change.group.fingerprint))
        if key := change.failure:
            failures.add(key)
        if change.history and (change.outcome or change.run.variant.id):
            histories.add(change.history)
    ended = [change.run for change in changes if change.outcome]
    sources = {key for run in ended if (key := build_source_key(run))}
    branches = {key for run in ended for key in branch_keys(run)}
    return RowKeys(
        cells=cells,
        groups=groups,
        histories=histories,
        build_sources=sources,
        branches=branches,
        failures=failures,
    )


def contribute(tables: Tables, changes: Sequence[ChangedRun], storms: SettledStorms, rules: ProjectionRules) -> None:
    """Fold what is new into counters, cells, failure groups and histories."""
    for change in changes:
        _count(tables, change)
        # Before it enters: a run that stays in its cell is active there again, or counted as finished.
        _leave_cell(tables, change)
        _enter_cell(tables, change)
        _name_sources(tables, change)
        _add_failure(tables, change)
    _extend_histories(tables, changes, storms, rules)
    _count_storms(tables, storms)


def _count_storms(tables: Tables, storms: SettledStorms) -> None:
    """They change how tests are classified, and therefore the health of their apps."""
    stormy = {(app_id, each) for (app_id, _), settled in storms.items() for each, storm in settled.items() if storm}
    for app_id, execution_id in stormy:
        if execution := tables.executions.get(execution_id):
            counters.add(tables.counters, execution.org_id, counters.app_all(app_id), {"storms": 1})


def _count(tables: Tables, change: ChangedRun) -> None:
    run, before = change.run, change.before
    if before is None:
        counters.add(tables.counters, run.org_id, counters.test(run.test_id), {"runs": 1})
    former_build, build = before.build_id if before else None, change.row.build_id
    if former_build and former_build != build:
        counters.add(tables.counters, run.org_id, counters.build(former_build), {"runs": -1})
    if build:
        arrived = {"runs": 1} if former_build != build else {}
        ended = {change.outcome.value: 1} if change.outcome else {}
        counters.add(tables.counters, run.org_id, counters.build(build), arrived | ended)
    if change.outcome and run.app_id:
        _count_day(tables, run, run.app_id, change.outcome.value)


def _count_day(tables: Tables, run: RunSnapshot, app_id: str, outcome: str) -> None:
    day = run.ended_at.date()
    month = counters.app_month(app_id, day)
    counters.add(tables.counters, run.org_id, month, {counters.day_field(day, outcome): 1})
    attributed = {"attributed": 1} if run.build is not None else {}
    counters.add(tables.counters, run.org_id, counters.app_all(app_id), {"ended": 1, **attributed})


def _leave_cell(tables: Tables, change: ChangedRun) -> None:
    """The run is no longer active in the cell where it was."""
    key = change.before.cell if change.before else None
    cell = tables.cells.get(key) if key else None
    if key and cell and change.run.run_id in cell.active_runs:
        left = without_active(cell, change.run.run_id)
        if left.empty:
            tables.cells.drop(key)
        else:
            tables.cells.put(key, left)


def _enter_cell(tables: Tables, change: ChangedRun) -> None:
    key = change.cell
    if key is None:
        return
    cell = tables.cells.get(key) or Cell(change.run.org_id)
    if change.outcome is None:
        tables.cells.put(key, with_active(cell, change.run))
        return
    cell = with_finished(cell, change.run, change.outcome)
    if change.group is not None:
        group_key = (*key, change.group.fingerprint)
        group = merge_groups(tables.groups.get(group_key), change.group)
        tables.groups.put(group_key, group)
        cell = with_group(cell, group)
    tables.cells.put(key, cell)


def _name_sources(tables: Tables, change: ChangedRun) -> None:
    """What CI said of the run that ended, for its build, branch and pull request."""
    run, outcome = change.run, change.outcome
    if outcome is None:
        return
    if key := build_source_key(run):
        tables.build_sources.put(key, with_source(tables.build_sources.get(key), run))
    for branch in branch_keys(run):
        tables.branches.put(branch, with_run(tables.branches.get(branch), branch, run, outcome))


def _add_failure(tables: Tables, change: ChangedRun) -> None:
    key = change.failure
    if key is not None and change.group is not None:
        failure = app_failure(change.run, change.group)
        tables.failures.put(key, merge_failures(tables.failures.get(key), failure))


def _extend_histories(
    tables: Tables, changes: Sequence[ChangedRun], storms: SettledStorms, rules: ProjectionRules
) -> None:
    _begin_histories(tables, changes)
    finished: dict[HistoryKey, list[RunSnapshot]] = {key: [] for key in storms}
    for change in changes:
        if change.outcome and change.history:
            finished.setdefault(change.history, []).append(change.run)
    for key, runs in finished.items():
        history = tables.histories.get(key)
        if history is None and not runs:
            continue
        history = history or History(runs[0].org_id)
        with_storm = [(run, _storm(tables, run.execution_id)) for run in runs]
        tables.histories.put(key, extend_history(history, with_storm, storms.get(key, {}), rules.flaky))


def _begin_histories(tables: Tables, changes: Sequence[ChangedRun]) -> None:
    """Variants have a history from their first run on, so that reports know of them while it goes on."""
    for change in changes:
        run, key = change.run, change.history
        if key and run.variant.id and tables.histories.get(key) is None:
            tables.histories.put(key, History(run.org_id, values=run.variant.values))


def _storm(tables: Tables, execution_id: str) -> bool | None:
    execution = tables.executions.get(execution_id)
    return execution.storm if execution else None


def decided_attempts(run: RunSnapshot, *, storm: bool | None) -> list[Attempt]:
    """The decided attempts of a finished run."""
    return [
        Attempt(
            run_id=run.run_id,
            number=attempt.number,
            execution_id=run.execution_id,
            started_at=attempt.started_at,
            build=run.build or NO_BUILD,
            test_version=run.test_version,
            passed=attempt.passed,
            branch=run.branch,
            storm=storm,
        )
        for attempt in run.attempts
        if attempt.passed is not None
    ]


def extend_history(
    history: History, runs: Iterable[tuple[RunSnapshot, bool | None]], storms: Mapping[str, bool], rules: FlakyRules
) -> History:
    """The history with these finished runs, each with its storm if settled, and with newly settled executions."""
    attempts = [_settled(attempt, storms) for attempt in history.attempts] if storms else list(history.attempts)
    observed = history.last_observed_build
    for run, storm in runs:
        attempts.extend(decided_attempts(run, storm=storm))
        if run.build is not None and run.outcome is not None and run.outcome.verdict:
            observed = newer_build(observed, run.build)
    kept = retained_attempts(attempts, rules.window)
    return replace(history, attempts=kept, last_observed_build=observed, assessment=judge(kept, rules))


def _settled(attempt: Attempt, storms: Mapping[str, bool]) -> Attempt:
    storm = storms.get(attempt.execution_id)
    return attempt if storm is None else replace(attempt, storm=storm)


def copy_catalog(tables: Tables, batch: Batch) -> None:
    """Store what the batch has of the catalog that is newer than its copies, and count existing builds."""
    for build_id, build in _newer(tables.builds, batch.builds).items():
        if (stored := tables.builds.get(build_id)) is not None:
            _count_build(tables, stored, -1)
        _count_build(tables, build, 1)
        _count_change(tables, build, stored)
    for key, attachment in _newer(tables.attachments, batch.attachments).items():
        _count_change(tables, attachment, tables.attachments.get(key))
    for test_id, test in _newer(tables.tests, batch.tests).items():
        known = tables.tests.get(test_id)
        deleted = test.deleted - (known.deleted if known else False)
        counters.add(tables.counters, test.org_id, counters.ORG_TESTS, {"deleted": deleted})
    _copy(tables.apps, batch.apps)
    _copy(tables.builds, batch.builds)
    _copy(tables.tests, batch.tests)
    _copy(tables.attachments, batch.attachments)
    _copy(tables.triages, batch.triages)


def _copy(table: Table[K, S], snapshots: Mapping[K, S]) -> None:
    for key, snapshot in _newer(table, snapshots).items():
        table.put(key, snapshot)


def _newer(table: Table[K, S], snapshots: Mapping[K, S]) -> dict[K, S]:
    stored = {key: table.get(key) for key in snapshots}
    return {
        key: each for key, each in snapshots.items() if (old := stored[key]) is None or each.revision > old.revision
    }


def _count_change(
    tables: Tables, new: BuildSnapshot | AttachmentSnapshot, stored: BuildSnapshot | AttachmentSnapshot | None
) -> None:
    """The sum of the revisions tells whether a build or attachment of the app has changed, however they arrived."""
    amount = new.revision - (stored.revision if stored else 0)
    counters.add(tables.counters, new.org_id, counters.app_all(new.app_id), {"changes": amount})


def _count_build(tables: Tables, build: BuildSnapshot, amount: int) -> None:
    if not build.deleted:
        counters.add(tables.counters, build.org_id, counters.app_all(build.app_id), {"builds": amount})
        day = {day_of(build.uploaded_at): amount}
        counters.add(tables.counters, build.org_id, counters.app_builds(build.app_id), day)
