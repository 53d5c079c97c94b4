"""Folds a batch of snapshots into the read models.

It runs in steps, because each one determines which rows the next one needs: `apply_runs`, `settle_storms`,
`required_rows`, then `contribute`. A row that is not in the tables is taken to be new. Duplicates, order and the
division into batches change nothing: a run contributes what its revision newly says, and counts once, when it ends.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from services.reporting.model import counters
from services.reporting.model.batch import Batch
from services.reporting.model.catalog_copies import copy_catalog
from services.reporting.model.cells import merge_groups, with_active, with_finished, with_group, without_active
from services.reporting.model.flaky import FlakyRules
from services.reporting.model.histories import extend_history
from services.reporting.model.run_changes import RunChange, apply_runs
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.model.storms import SettledStorms, StormRules, settle_storms
from services.reporting.model.tables import Cell, CellKey, GroupKey, History, HistoryKey, Tables


@dataclass(frozen=True, slots=True)
class Rules:
    """The constants of the definitions in docs/flaky.md."""

    flaky: FlakyRules = field(default_factory=FlakyRules)
    storm: StormRules = field(default_factory=StormRules)


DEFAULT_RULES = Rules()


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


def fold(tables: Tables, batch: Batch, rules: Rules = DEFAULT_RULES) -> None:
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
    )


def required_rows(changes: Sequence[RunChange], storms: SettledStorms) -> RowKeys:
    """The rows that `contribute` reads."""
    cells: set[CellKey] = set()
    groups: set[GroupKey] = set()
    histories: set[HistoryKey] = set(storms)
    for change in changes:
        cell, former = change.cell, change.before.cell if change.before else None
        cells.update(key for key in (cell, former) if key)
        if cell and change.group:
            groups.add((*cell, change.group.fingerprint))
        if change.outcome and change.history:
            histories.add(change.history)
    return RowKeys(cells=cells, groups=groups, histories=histories)


def contribute(tables: Tables, changes: Sequence[RunChange], storms: SettledStorms, rules: Rules) -> None:
    """Fold what is new into counters, cells, failure groups and histories."""
    for change in changes:
        _count(tables, change)
        _leave_cell(tables, change)
        _enter_cell(tables, change)
    _extend_histories(tables, changes, storms, rules)


def _count(tables: Tables, change: RunChange) -> None:
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
    if run.build is not None:
        counters.add(tables.counters, run.org_id, counters.app_all(app_id), {"attributed": 1})


def _leave_cell(tables: Tables, change: RunChange) -> None:
    """The run is no longer active in the cell where it was."""
    key = change.before.cell if change.before else None
    cell = tables.cells.get(key) if key else None
    if key and cell and change.run.run_id in cell.active:
        left = without_active(cell, change.run.run_id)
        if left.empty:
            tables.cells.drop(key)
        else:
            tables.cells.put(key, left)


def _enter_cell(tables: Tables, change: RunChange) -> None:
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


def _extend_histories(tables: Tables, changes: Sequence[RunChange], storms: SettledStorms, rules: Rules) -> None:
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


def _storm(tables: Tables, execution_id: str) -> bool | None:
    execution = tables.executions.get(execution_id)
    return execution.storm if execution else None
