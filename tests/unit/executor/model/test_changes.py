"""How changes of runs change their execution, and what is published."""

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import Status
from services.executor.model import lifecycle
from services.executor.model.changes import Change, apply_moves, cancel_execution, start_execution
from services.executor.model.executions import Execution
from services.executor.model.runs import Run
from tests.unit.executor.model.builders import LIMITS, NOW, execution_of, failing, later, new_run, queued_run


def numbers(change: Change) -> list[int]:
    return [fact.sequence for fact in change.facts]


def claim(execution: Execution, run: Run, seconds: float = 1) -> Change:
    return apply_moves(execution, [(run, lifecycle.claim(run, "worker-1", later(seconds), LIMITS))], later(seconds))


def finish(execution: Execution, run: Run, result: AttemptResult, seconds: float = 2) -> Change:
    after = lifecycle.finish(run, run.fencing_token, result, later(seconds), LIMITS)
    return apply_moves(execution, [(run, after)], later(seconds))


def test_a_start_publishes_runs_then_the_execution_and_requests_workers() -> None:
    released, waiting = queued_run(), new_run()
    change = start_execution(execution_of(), [released, waiting], NOW)
    assert (numbers(change), change.publishes_execution, change.execution.revision) == ([1, 2], True, 3)
    assert change.requested == (released,)
    assert change.execution.counts.queued == change.execution.counts.total == 2
    assert change.execution.status is Status.QUEUED
    assert set(change.execution.app_ids) == {released.target.app_id, waiting.target.app_id}


def test_a_start_without_runnable_runs_ends_at_once() -> None:
    wrong = lifecycle.end(new_run(), Failure(Category.CONFIG_INVALID, "Attach it."), NOW)
    change = start_execution(execution_of(), [wrong], NOW)
    assert change.execution.status is Status.FAILED
    assert change.execution.failure == wrong.failure
    assert change.requested == ()


def test_sequence_numbers_continue_and_revisions_increase_by_one() -> None:
    start = start_execution(execution_of(), [queued_run(), queued_run()], NOW)
    first = claim(start.execution, start.runs[0])
    assert (numbers(first), first.publishes_execution, first.execution.revision) == ([4], True, 5)
    second = claim(first.execution, start.runs[1])
    assert (numbers(second), second.publishes_execution, second.execution.revision) == ([6], False, 6)
    assert second.runs[0].revision == start.runs[1].revision + 1


def test_unchanged_runs_are_neither_stored_nor_published() -> None:
    run = queued_run()
    change = apply_moves(execution_of(run), [(run, run)], later(1))
    assert (change.runs, change.facts, change.publishes_execution, change.execution.revision) == ((), (), False, 0)


def test_a_retry_requests_no_worker_but_a_released_or_abandoned_run_does() -> None:
    start = start_execution(execution_of(), [queued_run()], NOW)
    claimed = claim(start.execution, start.runs[0])
    run = claimed.runs[0]
    assert finish(claimed.execution, run, failing()).requested == ()
    back = lifecycle.hand_back(run, run.fencing_token, later(2))
    assert [run.id for run in apply_moves(claimed.execution, [(run, back)], later(2)).requested] == [run.id]
    waiting = new_run()
    released = apply_moves(execution_of(waiting), [(waiting, lifecycle.queue(waiting, later(2)))], later(2))
    assert [run.id for run in released.requested] == [waiting.id]
    lost = lifecycle.expire(run, later(20), LIMITS)
    assert [run.id for run in apply_moves(claimed.execution, [(run, lost)], later(20)).requested] == [run.id]


def test_cancelling_ends_waiting_runs_and_notifies_running_ones() -> None:
    start = start_execution(execution_of(), [queued_run(), queued_run()], NOW)
    claimed = claim(start.execution, start.runs[0])
    change = cancel_execution(claimed.execution, [claimed.runs[0], start.runs[1]], later(2))
    assert [run.status for run in change.runs] == [Status.RUNNING, Status.CANCELLED]
    assert [fact.run.status for fact in change.facts] == [Status.CANCELLED]
    assert change.publishes_execution
    assert change.execution.cancel_requested_at == later(2)
    assert change.execution.status is Status.RUNNING


def test_cancelling_an_execution_without_running_runs_ends_it() -> None:
    start = start_execution(execution_of(), [queued_run(), new_run()], NOW)
    change = cancel_execution(start.execution, start.runs, later(2))
    assert change.execution.status is Status.CANCELLED
