"""Infrastructure storms: executions in which nearly everything failed in the same way."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from services.reporting.model import counters
from services.reporting.model.batch import ChangedRun
from services.reporting.model.snapshots import ExecutionSnapshot, RunSnapshot
from services.reporting.model.tables import EndedRun, ExecutionRow, HistoryKey, Tables
from services.reporting.model.variants import test_of


@dataclass(frozen=True, slots=True)
class StormRules:
    """A storm has at least `tests` tests with a verdict, of which `percent` failed with one fingerprint."""

    tests: int = 5
    percent: int = 80


DEFAULT_STORM_RULES = StormRules()


def is_storm(ended: Iterable[EndedRun], rules: StormRules = DEFAULT_STORM_RULES) -> bool:
    """Whether the finished execution with these verdicts was a storm; a test counts once however many runs it had."""
    tests: set[str] = set()
    failed: set[tuple[str, str]] = set()
    for run in ended:
        if not run.verdict:
            continue
        tests.add(test_of(run.subject))
        if run.fingerprint is not None:
            failed.add((run.fingerprint, test_of(run.subject)))
    together = Counter(fingerprint for fingerprint, _ in failed)
    most = max(together.values(), default=0)
    return len(tests) >= rules.tests and 100 * most >= rules.percent * len(tests)


def storm_verdict(total: int | None, finished: int, ended: Iterable[EndedRun], rules: StormRules) -> bool | None:
    """Whether it is a storm; None until that is settled. An execution with too few runs never is one."""
    if total is None:
        return None
    if total < rules.tests:
        return False
    return is_storm(ended, rules) if finished >= total else None


SettledStorms = dict[HistoryKey, dict[str, bool]]  # history -> execution -> whether it was a storm


def settle_storms(
    tables: Tables, executions: Iterable[ExecutionSnapshot], changes: Iterable[ChangedRun], rules: StormRules
) -> SettledStorms:
    """Apply the batch to the execution rows; gives the histories whose executions it settles."""
    changed: set[str] = set()
    for snapshot in executions:
        if _set_total(tables, snapshot):
            changed.add(snapshot.execution_id)
    finished: dict[str, list[ChangedRun]] = {}
    for change in changes:
        if change.outcome is not None:
            finished.setdefault(change.run.execution_id, []).append(change)
    for execution_id, its_changes in finished.items():
        _finish_runs(tables, execution_id, its_changes)
    changed.update(finished)
    storms: SettledStorms = {}
    for execution_id in changed:
        for key, storm in _settle_one(tables, execution_id, rules):
            storms.setdefault(key, {})[execution_id] = storm
    return storms


def _set_total(tables: Tables, snapshot: ExecutionSnapshot) -> bool:
    row = tables.executions.get(snapshot.execution_id) or ExecutionRow(snapshot.org_id)
    if snapshot.revision <= row.revision:
        return False
    tables.executions.put(snapshot.execution_id, replace(row, revision=snapshot.revision, total=snapshot.total))
    return True


def _finish_runs(tables: Tables, execution_id: str, changes: list[ChangedRun]) -> None:
    row = tables.executions.get(execution_id) or ExecutionRow(changes[0].run.org_id)
    ended, days = dict(row.ended_runs), dict(row.last_days)
    for change in changes:
        app_id = change.run.app_id
        if app_id is None:
            continue
        if change.outcome and row.storm is None:
            fingerprint = change.group.fingerprint if change.group else None
            ended[change.run.run_id] = EndedRun(app_id, change.run.subject, change.outcome.verdict, fingerprint)
        days[app_id] = _count_once(tables, change.run, app_id, days.get(app_id))
    tables.executions.put(
        execution_id, replace(row, finished=row.finished + len(changes), ended_runs=ended, last_days=days)
    )


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
    storm = storm_verdict(row.total, row.finished, row.ended_runs.values(), rules)
    if storm is None:
        return ()
    # The verdicts are needed only until here, and an execution may have thousands of runs.
    tables.executions.put(execution_id, replace(row, storm=storm, ended_runs={}))
    return [((run.app_id, run.subject), storm) for run in row.ended_runs.values()]
