"""What one transaction does to an execution and its runs, and what the world is told about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.executor.model import lifecycle
from services.executor.model.executions import Execution, RunCounts, apply_run_change, bucket, end_if_done
from services.executor.model.runs import Run
from services.executor.model.states import Status


@dataclass(frozen=True, slots=True)
class RunFact:
    """A run stands here now; `sequence` is the number of this fact within the execution."""

    sequence: int
    run: Run


@dataclass(frozen=True, slots=True)
class Change:
    """The execution and those of its runs that changed, as they are to be stored, and what is to be published.

    `execution_told` says whether the execution itself is news; it then comes after the runs, and its revision is
    the number of that fact. `wanted` are the runs that workers are to be told of.
    """

    execution: Execution
    runs: tuple[Run, ...]
    facts: tuple[RunFact, ...]
    execution_told: bool
    wanted: tuple[Run, ...]


def start_execution(execution: Execution, runs: Sequence[Run], now: datetime) -> Change:
    """A new execution with its runs; it ends at once when none of them can be made."""
    counts = RunCounts()
    for run in runs:
        counts = counts.added(bucket(run))
    failure = next((run.failure for run in runs if run.failure), None)
    app_ids = tuple(dict.fromkeys(run.target.app_id for run in runs if run.target.app_id))
    execution = end_if_done(replace(execution, counts=counts, failure=failure, app_ids=app_ids), now)
    return _told(execution, runs, runs, told=True, wanted=[run for run in runs if run.claimable_at])


def apply_moves(execution: Execution, moves: Iterable[tuple[Run, Run]], now: datetime) -> Change:
    """What becomes of an execution when some of its runs move from one state (before) to another (after)."""
    return _moved(execution, execution, moves, now)


def cancel_execution(
    execution: Execution, runs: Iterable[Run], now: datetime, superseded_by: str | None = None
) -> Change:
    """Ask for the end of an execution, for a newer one if one is named; `runs` are those that have not ended."""
    asked = execution
    if execution.cancel_requested_at is None:
        asked = replace(execution, cancel_requested_at=now, superseded_by=superseded_by)
    return _moved(execution, asked, [(run, lifecycle.request_cancel(run, now, superseded_by)) for run in runs], now)


def _moved(before: Execution, after: Execution, moves: Iterable[tuple[Run, Run]], now: datetime) -> Change:
    moved = [(old, replace(new, revision=old.revision + 1)) for old, new in moves if old != new]
    for old, new in moved:
        after = apply_run_change(after, old, new, now)
    visible = [new for old, new in moved if _shown(old) != _shown(new)]
    wanted = [new for old, new in moved if _wants_worker(old, new)]
    return _told(after, [new for _, new in moved], visible, told=_is_news(before, after), wanted=wanted)


def _shown(run: Run) -> tuple[object, ...]:
    """What watchers are told of when it changes."""
    return run.status, run.attempts, run.open_question


def _told(
    execution: Execution, runs: Sequence[Run], visible: Sequence[Run], *, told: bool, wanted: Sequence[Run]
) -> Change:
    first = execution.revision + 1
    facts = tuple(RunFact(sequence, run) for sequence, run in enumerate(visible, first))
    numbered = replace(execution, revision=execution.revision + len(facts) + told)
    return Change(numbered, tuple(runs), facts, told, tuple(wanted))


def _is_news(before: Execution, after: Execution) -> bool:
    return (before.status, before.cancel_requested_at) != (after.status, after.cancel_requested_at)


def _wants_worker(before: Run, after: Run) -> bool:
    """Whether the run became claimable with no worker at hand, as there is one after a failing verdict."""
    if after.claimable_at is None or before.claimable_at == after.claimable_at:
        return False
    return after.status is Status.QUEUED or after.attempts[-1].abandoned
