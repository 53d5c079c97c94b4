"""The order of the runs of an execution: those of a stage are released when all runs of the stages before have ended.

The first `sequence` stages are tests that run one after the other. With `continue_on_failure` false, those after one
that did not pass are not run. The last stage has all other tests, which run side by side.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from mobiletest_automation.model.failures import not_run_after
from mobiletest_automation.model.states import Status
from services.executor.model import lifecycle
from services.executor.model.runs import Run


def stage_moves(
    runs: Sequence[Run], sequence: int, now: datetime, *, continue_on_failure: bool
) -> list[tuple[Run, Run]]:
    """The runs to release or to end now, each before and after; `runs` are all of the execution, as they are."""
    moves: list[tuple[Run, Run]] = []
    failed: Run | None = None
    for stage, members in groupby(sorted(runs, key=lambda run: run.stage), key=lambda run: run.stage):
        of_stage = list(members)
        waiting = [run for run in of_stage if run.status is Status.INITIALIZED]
        if failed is not None and stage < sequence:
            moves += [(run, lifecycle.end(run, not_run_after(failed.target.test_name), now)) for run in waiting]
            continue
        moves += [(run, lifecycle.queue(run, now)) for run in waiting]
        if waiting or any(not run.status.terminal for run in of_stage):
            return moves
        if not continue_on_failure:
            failed = failed or next((run for run in of_stage if run.success is not True), None)
    return moves


def release_stages(runs: Sequence[Run], sequence: int, now: datetime, *, continue_on_failure: bool) -> list[Run]:
    """New runs, of which those of the first stage are released."""
    moved = {run.id: after for run, after in stage_moves(runs, sequence, now, continue_on_failure=continue_on_failure)}
    return [moved.get(run.id, run) for run in runs]
