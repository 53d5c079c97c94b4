"""The fold: a batch of snapshots into the read models.

It runs in steps, because each says which rows the next one needs: `advance` (runs), `settle` (executions), `needs`,
then `contribute`. A row that is not in the tables is taken to be new. Duplicates, order and the cut into batches
change nothing: a run contributes what its revision newly says, and counts once, when it has finished.
"""

from collections.abc import Sequence
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
class RequiredRows:
    """Keys of the rows that `contribute` reads."""

    cells: set[CellKey] = field(default_factory=set)
    groups: set[GroupKey] = field(default_factory=set)
    histories: set[HistoryKey] = field(default_factory=set)


def fold(tables: Tables, batch: Batch, rules: Rules = DEFAULT_RULES) -> None:
    """The whole fold, on tables that hold everything."""
    steps = apply_runs(tables, batch.runs.values())
    settled = settle_storms(tables, batch.executions.values(), steps, rules.storm)
    contribute(tables, steps, settled, rules)
    copy_catalog(tables, batch)


def required_rows(steps: Sequence[RunChange], settled: SettledStorms) -> RequiredRows:
    """What has to be loaded before `contribute`."""
    found = RequiredRows(histories=set(settled))
    for step in steps:
        cell, left = step.cell, step.before.cell if step.before else None
        if cell:
            found.cells.add(cell)
        if left:
            found.cells.add(left)
        if cell and step.group:
            found.groups.add((*cell, step.group.fingerprint))
        if step.outcome and step.history:
            found.histories.add(step.history)
    return found


def contribute(tables: Tables, steps: Sequence[RunChange], settled: SettledStorms, rules: Rules) -> None:
    """Fold what is new into counters, cells, failure groups and histories."""
    for step in steps:
        _count(tables, step)
        _leave_cell(tables, step)
        _enter_cell(tables, step)
    _extend_histories(tables, steps, settled, rules)


def _count(tables: Tables, step: RunChange) -> None:
    run, before = step.run, step.before
    if before is None:
        counters.add(tables.counters, run.org_id, counters.test(run.test_id), {"runs": 1})
    was_on, is_on = before.build_id if before else None, step.row.build_id
    ended = {step.outcome.value: 1} if step.outcome else {}
    if was_on and was_on != is_on:
        counters.add(tables.counters, run.org_id, counters.build(was_on), {"runs": -1})
    if is_on:
        arrived = {"runs": 1} if was_on != is_on else {}
        counters.add(tables.counters, run.org_id, counters.build(is_on), arrived | ended)
    if step.outcome and run.app_id:
        _count_day(tables, run, run.app_id, step.outcome.value)


def _count_day(tables: Tables, run: RunSnapshot, app_id: str, outcome: str) -> None:
    day = run.ended_at.date()
    month = counters.app_month(app_id, day)
    counters.add(tables.counters, run.org_id, month, {counters.day_field(day, outcome): 1})
    if run.build is not None:
        counters.add(tables.counters, run.org_id, counters.app_all(app_id), {"attributed": 1})


def _leave_cell(tables: Tables, step: RunChange) -> None:
    """The run is no longer under way where it was."""
    key = step.before.cell if step.before else None
    cell = tables.cells.get(key) if key else None
    if key and cell and step.run.run_id in cell.active:
        left = without_active(cell, step.run.run_id)
        if left.empty:
            tables.cells.drop(key)
        else:
            tables.cells.put(key, left)


def _enter_cell(tables: Tables, step: RunChange) -> None:
    key = step.cell
    if key is None:
        return
    cell = tables.cells.get(key) or Cell(step.run.org_id)
    if step.outcome is None:
        tables.cells.put(key, with_active(cell, step.run))
        return
    cell = with_finished(cell, step.run, step.outcome)
    if step.group is not None:
        group_key = (*key, step.group.fingerprint)
        group = merge_groups(tables.groups.get(group_key), step.group)
        tables.groups.put(group_key, group)
        cell = with_group(cell, group)
    tables.cells.put(key, cell)


def _extend_histories(tables: Tables, steps: Sequence[RunChange], settled: SettledStorms, rules: Rules) -> None:
    finished: dict[HistoryKey, list[RunSnapshot]] = {key: [] for key in settled}
    for step in steps:
        if step.outcome and step.history:
            finished.setdefault(step.history, []).append(step.run)
    for key, runs in finished.items():
        history = tables.histories.get(key)
        if history is None and not runs:
            continue
        history = history or History(runs[0].org_id)
        told = [(run, _storm(tables, run.execution_id)) for run in runs]
        tables.histories.put(key, extend_history(history, told, settled.get(key, {}), rules.flaky))


def _storm(tables: Tables, execution_id: str) -> bool | None:
    execution = tables.executions.get(execution_id)
    return execution.storm if execution else None
