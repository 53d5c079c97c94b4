"""What one transaction changes in an execution and its runs, and what is published about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mobiletest_automation.model.states import RunCounts, Status, bucket
from services.executor.model import lifecycle
from services.executor.model.executions import (
    BUILDS_NAMED,
    Execution,
    ExecutionBuild,
    apply_run_change,
    end_if_done,
)
from services.executor.model.runs import Run


@dataclass(frozen=True, slots=True)
class RunFact:
    """The new state of a run; `sequence` is the number of this event within the execution."""

    sequence: int
    run: Run


@dataclass(frozen=True, slots=True)
class Change:
    """The changed execution and runs to store, and what to publish.

    `publishes_execution`: whether the execution itself is published; this event follows those of the runs, and its
    number is the execution's revision. `requested` are the runs for which workers are requested.
    """

    execution: Execution
    runs: tuple[Run, ...]
    facts: tuple[RunFact, ...]
    publishes_execution: bool
    requested: tuple[Run, ...]


def start_execution(execution: Execution, runs: Sequence[Run], now: datetime) -> Change:
    """A new execution with its runs; it ends at once when none of its runs can be started."""
    counts = RunCounts()
    for run in runs:
        counts = counts.added(bucket(run.status, run.success))
    failure = next((run.failure for run in runs if run.failure), None)
    app_ids = tuple(dict.fromkeys(run.target.app_id for run in runs if run.target.app_id))
    execution = replace(execution, test_name=_only_test(runs), builds=_builds(runs))
    execution = end_if_done(replace(execution, counts=counts, failure=failure, app_ids=app_ids), now)
    return _number_events(
        execution, runs, runs, publishes_execution=True, requested=[run for run in runs if run.claimable_at]
    )


def _only_test(runs: Sequence[Run]) -> str | None:
    """The name of the test if all runs are of one."""
    names = {run.target.test_id: run.target.test_name for run in runs}
    return next(iter(names.values())) if len(names) == 1 else None


def _builds(runs: Sequence[Run]) -> tuple[ExecutionBuild, ...]:
    targets = (run.target for run in runs if run.target.app_id)
    builds = (
        ExecutionBuild(
            each.app_id or "", each.app_name or "", each.platform, each.build_id, each.resolved_build_version
        )
        for each in targets
    )
    return tuple(dict.fromkeys(builds))[:BUILDS_NAMED]


def apply_moves(execution: Execution, moves: Iterable[tuple[Run, Run]], now: datetime) -> Change:
    """The change of an execution when some of its runs change (pairs of before and after)."""
    return _apply(execution, execution, moves, now)


def cancel_execution(
    execution: Execution, runs: Iterable[Run], now: datetime, superseded_by: str | None = None
) -> Change:
    """Request cancellation, for a newer execution if one is named; `runs` are those that have not ended."""
    asked = execution
    if execution.cancel_requested_at is None:
        asked = replace(execution, cancel_requested_at=now, superseded_by=superseded_by)
    return _apply(execution, asked, [(run, lifecycle.request_cancel(run, now, superseded_by)) for run in runs], now)


def _apply(before: Execution, after: Execution, moves: Iterable[tuple[Run, Run]], now: datetime) -> Change:
    moved = [(old, replace(new, revision=old.revision + 1)) for old, new in moves if old != new]
    for old, new in moved:
        after = apply_run_change(after, old, new, now)
    visible = [new for old, new in moved if _published_state(old) != _published_state(new)]
    requested = [new for old, new in moved if _needs_worker(old, new)]
    changed = [new for _, new in moved]
    return _number_events(
        after, changed, visible, publishes_execution=_is_published(before, after), requested=requested
    )


def _published_state(run: Run) -> tuple[object, ...]:
    """The part of a run whose changes are published."""
    return run.status, run.attempts, run.open_question


def _number_events(
    execution: Execution,
    runs: Sequence[Run],
    visible: Sequence[Run],
    *,
    publishes_execution: bool,
    requested: Sequence[Run],
) -> Change:
    first = execution.revision + 1
    facts = tuple(RunFact(sequence, run) for sequence, run in enumerate(visible, first))
    numbered = replace(execution, revision=execution.revision + len(facts) + publishes_execution)
    return Change(numbered, tuple(runs), facts, publishes_execution, tuple(requested))


def _is_published(before: Execution, after: Execution) -> bool:
    return (before.status, before.cancel_requested_at) != (after.status, after.cancel_requested_at)


def _needs_worker(before: Run, after: Run) -> bool:
    """Whether the run became claimable and no worker holds it (after a failing verdict its worker continues)."""
    if after.claimable_at is None or before.claimable_at == after.claimable_at:
        return False
    return after.status is Status.QUEUED or after.attempts[-1].abandoned
