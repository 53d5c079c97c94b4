"""Counting the runs of executions, and settling whether an execution was a storm once all of them ended."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from services.reporting.model import counters
from services.reporting.model.snapshots import ExecutionSnapshot, RunSnapshot
from services.reporting.model.steps import Step
from services.reporting.model.storms import StormRules, settled
from services.reporting.model.tables import EndedRun, ExecutionRow, HistoryKey, Tables

Settled = dict[HistoryKey, dict[str, bool]]  # history -> execution -> whether it was a storm


def settle(
    tables: Tables, executions: Iterable[ExecutionSnapshot], steps: Iterable[Step], rules: StormRules
) -> Settled:
    """Apply the batch to the execution rows; gives the histories whose executions are settled by it."""
    touched: set[str] = set()
    for snapshot in executions:
        if _learn_total(tables, snapshot):
            touched.add(snapshot.execution_id)
    finished: dict[str, list[Step]] = {}
    for step in steps:
        if step.outcome is not None:
            finished.setdefault(step.run.execution_id, []).append(step)
    for execution_id, its_steps in finished.items():
        _finish_runs(tables, execution_id, its_steps)
    touched.update(finished)
    found: Settled = {}
    for execution_id in touched:
        for key, storm in _settle_one(tables, execution_id, rules):
            found.setdefault(key, {})[execution_id] = storm
    return found


def _learn_total(tables: Tables, snapshot: ExecutionSnapshot) -> bool:
    row = tables.executions.get(snapshot.execution_id) or ExecutionRow(snapshot.org_id)
    if snapshot.revision <= row.revision:
        return False
    tables.executions.put(snapshot.execution_id, replace(row, revision=snapshot.revision, total=snapshot.total))
    return True


def _finish_runs(tables: Tables, execution_id: str, steps: list[Step]) -> None:
    row = tables.executions.get(execution_id) or ExecutionRow(steps[0].run.org_id)
    tested, days = dict(row.tested), dict(row.days)
    for step in steps:
        app_id = step.run.app_id
        if app_id is None:
            continue
        if step.outcome and row.storm is None:
            fingerprint = step.group.fingerprint if step.group else None
            tested[step.run.run_id] = EndedRun(app_id, step.run.test_id, step.outcome.verdict, fingerprint)
        days[app_id] = _count_once(tables, step.run, app_id, days.get(app_id))
    tables.executions.put(execution_id, replace(row, finished=row.finished + len(steps), tested=tested, days=days))


def _count_once(tables: Tables, run: RunSnapshot, app_id: str, counted: date | None) -> date:
    """Count the execution for the app on the newest day on which a run of it ended; gives that day."""
    ended = run.ended_at.date()
    if counted is not None and counted >= ended:
        return counted
    for day, amount in ((counted, -1), (ended, 1)):
        if day is not None:
            month = counters.app_month(app_id, day)
            counters.add(tables.counters, run.org_id, month, {counters.day_field(day, "executions"): amount})
    return ended


def _settle_one(tables: Tables, execution_id: str, rules: StormRules) -> Iterable[tuple[HistoryKey, bool]]:
    row = tables.executions.get(execution_id)
    if row is None or row.storm is not None:
        return ()
    storm = settled(row.total, row.finished, row.tested.values(), rules)
    if storm is None:
        return ()
    tables.executions.put(execution_id, replace(row, storm=storm, tested={}))
    return [((tested.app_id, tested.test_id), storm) for tested in row.tested.values()]
