"""The transitions of a run, case by case."""

from dataclasses import replace
from datetime import timedelta

import pytest

from services.executor.model import lifecycle
from services.executor.model.attempts import AttemptResult
from services.executor.model.failures import Category, Failure
from services.executor.model.lifecycle import Fenced, NotClaimable
from services.executor.model.runs import Run
from services.executor.model.states import IllegalTransition, Status
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, failing, later, new_run, passing, queued_run


def claim(run: Run, seconds: float = 0) -> Run:
    return lifecycle.claim(run, "worker-2", later(seconds), LIMITS)


def finish(run: Run, result: AttemptResult, seconds: float = 1) -> Run:
    return lifecycle.finish(run, run.fencing_token, result, later(seconds), LIMITS)


def test_a_claim_gives_lease_token_attempt_and_deadline() -> None:
    run = claimed_run()
    assert run.status is Status.RUNNING
    assert run.lease is not None
    assert (run.lease.worker, run.lease.expires_at) == ("worker-1", NOW + LIMITS.lease_ttl)
    assert (run.fencing_token, run.attempt_number, run.claimable_at) == (1, 1, None)
    assert run.deadline_at == NOW + LIMITS.run_timeout


def test_a_run_cannot_be_claimed_twice_or_before_its_release_or_after_its_end() -> None:
    for run in (claimed_run(), new_run(), finish(claimed_run(), passing())):
        with pytest.raises(NotClaimable):
            claim(run)


def test_a_pass_ends_the_run_at_once() -> None:
    run = finish(claimed_run(retries=5), passing())
    assert (run.status, run.success, run.failure, run.flaky) == (Status.COMPLETED, True, None, False)
    assert run.execution_time_seconds == 1.0
    assert run.lease is None


def test_no_run_takes_less_than_no_time() -> None:
    """The clock of a new primary may be behind that of the former one; reports refuse a negative duration."""
    run = finish(claimed_run(), passing())
    assert run.started_at is not None
    assert replace(run, completed_at=run.started_at - timedelta(seconds=2)).execution_time_seconds == 0.0


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_a_failing_verdict_is_retried_as_configured(retries: int) -> None:
    run = claimed_run(retries=retries)
    for _ in range(retries):
        run = finish(run, failing())
        assert (run.status, run.lease) == (Status.RUNNING, None)
        run = claim(run, seconds=1)
    run = finish(run, failing())
    assert (run.status, run.success, run.attempt_number) == (Status.COMPLETED, False, retries + 1)
    assert run.failure is not None
    assert run.failure.category is Category.ASSERTION_FAILED


def test_a_pass_after_a_failed_attempt_is_flaky() -> None:
    run = finish(claim(finish(claimed_run(), failing()), 1), passing())
    assert (run.status, run.success, run.failure, run.flaky) == (Status.COMPLETED, True, None, True)


def test_a_pass_after_an_infrastructure_failure_is_not_flaky() -> None:
    broken = finish(claimed_run(), failing(Category.SESSION_LOST))
    run = finish(claim(broken, 2), passing(), 3)
    assert (run.success, run.flaky) == (True, False)


def test_infrastructure_failures_have_two_retries_of_their_own() -> None:
    run = finish(claim(finish(claimed_run(retries=1), failing()), 1), failing(Category.NETWORK_ERROR))
    run = finish(claim(run, 2), failing(Category.DEVICE_UNAVAILABLE), 3)
    assert run.status is Status.RUNNING
    run = finish(claim(run, 4), failing(Category.EXECUTOR_LOST), 5)
    assert (run.status, run.success, run.attempt_number) == (Status.FAILED, None, 4)


def test_an_infrastructure_failure_delays_the_next_attempt() -> None:
    run = finish(claimed_run(), failing(Category.DEVICE_UNAVAILABLE), seconds=1)
    assert run.claimable_at == later(1) + LIMITS.infrastructure_backoff
    with pytest.raises(NotClaimable):
        claim(run, seconds=1.5)


@pytest.mark.parametrize(
    "category", [Category.CONFIG_INVALID, Category.ARTIFACT_INVALID, Category.RUN_TIMEOUT, Category.UNKNOWN]
)
def test_failures_that_are_nobodys_fault_are_not_retried(category: Category) -> None:
    run = finish(claimed_run(retries=5), failing(category))
    assert (run.status, run.success, run.attempt_number) == (Status.FAILED, None, 1)


def test_a_worker_with_an_old_token_is_fenced() -> None:
    zombie = claimed_run()
    lost = lifecycle.expire(zombie, later(16), LIMITS)
    again = claim(lost, 18)
    for run in (lost, again, finish(again, passing())):
        with pytest.raises(Fenced):
            lifecycle.finish(run, zombie.fencing_token, passing(), later(20), LIMITS)
        with pytest.raises(Fenced):
            lifecycle.hand_back(run, zombie.fencing_token, later(20))


def test_expired_leases_lead_to_retries_and_finally_to_executor_lost() -> None:
    run = claimed_run()
    for attempt in (1, 2):
        run = lifecycle.expire(run, later(20 * attempt), LIMITS)
        assert (run.status, run.lease, run.attempt_number) == (Status.RUNNING, None, attempt)
        run = claim(run, 20 * attempt + 1)
    run = lifecycle.expire(run, later(100), LIMITS)
    assert run.status is Status.FAILED
    assert run.failure is not None
    assert run.failure.category is Category.EXECUTOR_LOST


def test_nothing_expires_before_it_is_due() -> None:
    for run in (claimed_run(), queued_run(), new_run()):
        assert lifecycle.expire(run, later(14.9), LIMITS) is run


def test_a_queued_run_ends_after_the_queue_timeout() -> None:
    assert lifecycle.expire(queued_run(), later(3599), LIMITS).status is Status.QUEUED
    run = lifecycle.expire(queued_run(), later(3600), LIMITS)
    assert run.failure is not None
    assert (run.status, run.failure.category) == (Status.FAILED, Category.QUEUE_TIMEOUT)


def test_a_queue_timeout_mentions_the_limit_of_the_organisation() -> None:
    run = lifecycle.expire(queued_run(), later(3600), LIMITS)
    assert run.failure is not None
    assert "(limit concurrent_runs)" in run.failure.message


def test_a_run_that_waits_for_a_retry_ends_at_its_deadline() -> None:
    waiting = finish(claimed_run(), failing())
    run = lifecycle.expire(waiting, later(30 * 60), LIMITS)
    assert run.failure is not None
    assert (run.status, run.failure.category) == (Status.FAILED, Category.RUN_TIMEOUT)


def test_a_lease_that_expires_after_the_deadline_is_a_timeout() -> None:
    run = claimed_run()
    assert run.lease is not None
    held = replace(run, lease=replace(run.lease, expires_at=later(30 * 60 + 15)))
    over = lifecycle.expire(held, later(30 * 60 + 15), LIMITS)
    assert over.failure is not None
    assert (over.status, over.failure.category) == (Status.FAILED, Category.RUN_TIMEOUT)


def test_no_attempt_begins_after_the_deadline() -> None:
    run = finish(claimed_run(), failing(), seconds=30 * 60)
    assert (run.status, run.success) == (Status.COMPLETED, False)


def test_cancelling_ends_an_unleased_run() -> None:
    for waiting in (new_run(), queued_run(), finish(claimed_run(), failing())):
        run = lifecycle.request_cancel(waiting, later(2))
        assert run.failure is not None
        assert (run.status, run.failure.category) == (Status.CANCELLED, Category.CANCELLED_BY_USER)
        assert run.claimable_at is None


def test_cancelling_a_leased_run_notifies_its_worker() -> None:
    run = lifecycle.request_cancel(claimed_run(), later(2))
    assert (run.status, run.cancel_requested_at) == (Status.RUNNING, later(2))
    stopped = finish(run, AttemptResult(failure=Failure(Category.CANCELLED_BY_USER, "Stopped.")))
    assert (stopped.status, stopped.success) == (Status.CANCELLED, None)


def test_a_verdict_reached_before_the_cancellation_stands() -> None:
    asked = lifecycle.request_cancel(claimed_run(retries=3), later(2))
    assert finish(asked, passing()).status is Status.COMPLETED
    failed = finish(asked, failing())
    assert (failed.status, failed.success) == (Status.COMPLETED, False)


def test_an_infrastructure_failure_of_a_cancelled_run_is_a_cancellation() -> None:
    asked = lifecycle.request_cancel(claimed_run(), later(2))
    assert finish(asked, failing(Category.SESSION_LOST)).status is Status.CANCELLED
    assert lifecycle.expire(asked, later(30), LIMITS).status is Status.CANCELLED
    assert lifecycle.hand_back(asked, asked.fencing_token, later(3)).status is Status.CANCELLED


def test_the_first_cancellation_counts_and_ended_runs_cannot_be_cancelled() -> None:
    asked = lifecycle.request_cancel(lifecycle.request_cancel(claimed_run(), later(2)), later(5))
    assert asked.cancel_requested_at == later(2)
    with pytest.raises(IllegalTransition):
        lifecycle.request_cancel(finish(claimed_run(), passing()), later(2))


def test_a_run_handed_back_is_claimable_at_once() -> None:
    run = claimed_run(retries=0)
    for second in range(1, 6):
        run = lifecycle.hand_back(run, run.fencing_token, later(second))
        assert (run.status, run.claimable_at) == (Status.RUNNING, later(second))
        assert run.attempts[-1].handed_back
        run = claim(run, second)
    lost = lifecycle.expire(run, later(60), LIMITS)
    assert lost.status is Status.RUNNING
    run = finish(claim(lost, 62), passing(), 63)
    assert (run.success, run.flaky, run.attempt_number) == (True, False, 7)


def test_an_invalid_configuration_ends_a_run_before_it_is_queued() -> None:
    run = lifecycle.end(new_run(), Failure(Category.CONFIG_INVALID, "Attach the test to an app."), NOW)
    assert (run.status, run.success, run.started_at) == (Status.FAILED, None, None)
    assert run.completed_at == NOW


def test_due_at_is_the_lease_then_the_deadline() -> None:
    run = claimed_run()
    assert run.due_at(LIMITS) == NOW + LIMITS.lease_ttl
    assert finish(run, failing()).due_at(LIMITS) == NOW + LIMITS.run_timeout
    assert queued_run().due_at(LIMITS) == NOW + timedelta(hours=1)
    assert new_run().due_at(LIMITS) is None
    assert finish(run, passing()).due_at(LIMITS) is None
