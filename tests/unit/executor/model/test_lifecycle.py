"""The transitions of a run, case by case."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mobiletest_automation.model.attempts import AttemptMode
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import CacheRetryMode, FallbackTrigger, RunConfig
from mobiletest_automation.model.states import IllegalTransition, Status
from services.executor.model import lifecycle
from services.executor.model.lifecycle import Fenced, NotClaimable, extra_modes, may_ask_model, may_use_cache
from services.executor.model.runs import Run
from services.executor.model.workers import Fleet, KnownWorker, PoolReport, WorkerReport
from tests.unit.executor.model.builders import LIMITS, NOW, claimed_run, failing, later, new_run, passing, queued_run

LOST = failing(Category.SESSION_LOST)
STOPPED = AttemptResult(failure=Failure(Category.CANCELLED_BY_USER, "Stopped."))
CACHE_FAILED = replace(failing(), cache_failed=True)
BOTH = (AttemptMode.UNCACHED, AttemptMode.MODEL)


def claim(run: Run, seconds: float = 0) -> Run:
    return lifecycle.claim(run, "worker-2", later(seconds), LIMITS)


def finish(run: Run, result: AttemptResult, seconds: float = 1) -> Run:
    return lifecycle.finish(run, run.fencing_token, result, later(seconds), LIMITS)


def expire(run: Run, seconds: float) -> Run:
    return lifecycle.expire(run, later(seconds), LIMITS)


def cancelled(run: Run) -> Run:
    return lifecycle.request_cancel(run, later(2))


def held_until(run: Run, seconds: float) -> Run:
    assert run.lease is not None
    return replace(run, lease=replace(run.lease, expires_at=later(seconds)))


@pytest.mark.parametrize(
    ("run", "status", "success", "category"),
    [
        (finish(claimed_run(retries=5), passing()), Status.COMPLETED, True, None),
        *(
            (finish(claimed_run(retries=5), failing(category)), Status.FAILED, None, category)
            for category in (
                *(Category.CONFIG_INVALID, Category.ARTIFACT_INVALID, Category.RUN_TIMEOUT, Category.UNKNOWN),
            )
        ),
        (expire(queued_run(), 3600), Status.FAILED, None, Category.QUEUE_TIMEOUT),
        # The deadline ends a run that waits for a retry, or whose lease expires after it; no attempt begins later.
        (expire(finish(claimed_run(), failing()), 30 * 60), Status.FAILED, None, Category.RUN_TIMEOUT),
        (expire(held_until(claimed_run(), 1815), 1815), Status.FAILED, None, Category.RUN_TIMEOUT),
        (finish(claimed_run(), failing(), 30 * 60), Status.COMPLETED, False, Category.ASSERTION_FAILED),
        # A cancellation ends a run without a worker at once; the worker of another one is notified.
        (cancelled(new_run()), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        (cancelled(queued_run()), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        (cancelled(finish(claimed_run(), failing())), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        (cancelled(claimed_run()), Status.RUNNING, None, None),
        (finish(cancelled(claimed_run()), STOPPED), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        # A verdict reached before the cancellation stands; what is no verdict is a cancellation.
        (finish(cancelled(claimed_run()), passing()), Status.COMPLETED, True, None),
        (finish(cancelled(claimed_run()), failing()), Status.COMPLETED, False, Category.ASSERTION_FAILED),
        (finish(cancelled(claimed_run()), LOST), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        (expire(cancelled(claimed_run()), 30), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        (lifecycle.hand_back(cancelled(claimed_run()), 1, NOW), Status.CANCELLED, None, Category.CANCELLED_BY_USER),
        (lifecycle.end(new_run(), Failure(Category.CONFIG_INVALID, "Attach it."), NOW),
         Status.FAILED, None, Category.CONFIG_INVALID),
    ],
)  # fmt: skip
def test_how_a_run_ends(run: Run, status: Status, success: bool | None, category: Category | None) -> None:
    assert (run.status, run.success, run.failure and run.failure.category) == (status, success, category)
    assert not status.terminal or (run.lease, run.claimable_at) == (None, None)


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


def test_the_time_of_a_run_is_never_negative() -> None:
    """The clock of a new primary may be behind that of the former one; reports refuse a negative duration."""
    run = finish(claimed_run(), passing())
    assert run.execution_time_seconds == 1.0
    assert run.started_at is not None
    assert replace(run, completed_at=run.started_at - timedelta(seconds=2)).execution_time_seconds == 0.0
    invalid = lifecycle.end(new_run(), Failure(Category.CONFIG_INVALID, "Attach the test to an app."), NOW)
    assert (invalid.started_at, invalid.completed_at) == (None, NOW)


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_a_failing_verdict_is_retried_as_configured(retries: int) -> None:
    run = claimed_run(retries=retries)
    for _ in range(retries):
        run = finish(run, failing())
        assert (run.status, run.lease) == (Status.RUNNING, None)
        run = claim(run, seconds=1)
    run = finish(run, failing())
    assert (run.status, run.success, run.attempt_number) == (Status.COMPLETED, False, retries + 1)


@pytest.mark.parametrize(("first", "flaky"), [(failing(), True), (LOST, False)])
def test_a_pass_is_flaky_after_a_failing_verdict_only(first: AttemptResult, flaky: bool) -> None:
    run = finish(claim(finish(claimed_run(), first), 2), passing(), 3)
    assert (run.status, run.success, run.failure, run.flaky) == (Status.COMPLETED, True, None, flaky)


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


def test_a_worker_with_an_old_token_is_fenced() -> None:
    zombie = claimed_run()
    lost = expire(zombie, 16)
    again = claim(lost, 18)
    for run in (lost, again, finish(again, passing())):
        with pytest.raises(Fenced):
            lifecycle.finish(run, zombie.fencing_token, passing(), later(20), LIMITS)
        with pytest.raises(Fenced):
            lifecycle.hand_back(run, zombie.fencing_token, later(20))


def test_expired_leases_lead_to_retries_and_finally_to_executor_lost() -> None:
    run = claimed_run()
    for attempt in (1, 2):
        run = expire(run, 20 * attempt)
        assert (run.status, run.lease, run.attempt_number) == (Status.RUNNING, None, attempt)
        run = claim(run, 20 * attempt + 1)
    run = expire(run, 100)
    assert (run.status, run.failure and run.failure.category) == (Status.FAILED, Category.EXECUTOR_LOST)


def test_nothing_expires_before_it_is_due() -> None:
    for run in (claimed_run(), queued_run(), new_run()):
        assert expire(run, 14.9) is run
    assert expire(queued_run(), 3599).status is Status.QUEUED


def test_a_queue_timeout_mentions_the_limit_of_the_organisation() -> None:
    failure = expire(queued_run(), 3600).failure
    assert failure is not None
    assert "(limit concurrent_runs)" in failure.message


def test_a_run_that_waited_for_devices_that_no_worker_has_ends_as_device_unavailable() -> None:
    """Also if others have some; a worker that is lost had some."""

    def failure(*pools: PoolReport, silent: bool = False) -> Category | None:
        report = WorkerReport(id="w", name="w", slots=1, pools=pools)
        fleet = Fleet([KnownWorker(report, NOW, NOW, silent)])
        ended = lifecycle.expire(queued_run(), later(3600), LIMITS, fleet)
        return ended.failure and ended.failure.category

    phones = PoolReport(name="phones", platform=Platform.IOS, slots=1)
    assert failure() is Category.DEVICE_UNAVAILABLE
    assert failure(replace(phones, platform=Platform.ANDROID)) is Category.DEVICE_UNAVAILABLE
    assert failure(replace(phones, organisation="another")) is Category.DEVICE_UNAVAILABLE
    assert failure(phones) is failure(phones, silent=True) is Category.QUEUE_TIMEOUT


def test_the_first_cancellation_counts_and_ended_runs_cannot_be_cancelled() -> None:
    asked = lifecycle.request_cancel(cancelled(claimed_run()), later(5))
    assert asked.cancel_requested_at == later(2)
    with pytest.raises(IllegalTransition):
        cancelled(finish(claimed_run(), passing()))


def test_a_run_handed_back_is_claimable_at_once() -> None:
    run = claimed_run(retries=0)
    for second in range(1, 6):
        run = lifecycle.hand_back(run, run.fencing_token, later(second))
        assert (run.status, run.claimable_at) == (Status.RUNNING, later(second))
        assert run.attempts[-1].handed_back
        run = claim(run, second)
    lost = expire(run, 60)
    assert lost.status is Status.RUNNING
    run = finish(claim(lost, 62), passing(), 63)
    assert (run.success, run.flaky, run.attempt_number) == (True, False, 7)


def test_due_at_is_the_lease_then_the_deadline() -> None:
    run = claimed_run()
    assert run.due_at(LIMITS) == NOW + LIMITS.lease_ttl
    assert finish(run, failing()).due_at(LIMITS) == NOW + LIMITS.run_timeout
    assert queued_run().due_at(LIMITS) == NOW + timedelta(hours=1)
    assert (new_run().due_at(LIMITS), finish(run, passing()).due_at(LIMITS)) == (None, None)


def begun(*extra: AttemptMode, retries: int = 0) -> Run:
    return replace(claimed_run(retries=retries), extra_modes=extra)


def then(run: Run, result: AttemptResult) -> Run:
    """End the attempt with this result, and start the next one if there is one."""
    ended = lifecycle.finish(run, run.fencing_token, result, later(1), LIMITS)
    return ended if ended.claimable_at is None else lifecycle.claim(ended, "worker-2", later(10), LIMITS)


def lost(run: Run) -> Run:
    """Lose the worker, and let another one claim the run."""
    assert run.lease is not None
    moment = run.lease.expires_at
    return lifecycle.claim(lifecycle.expire(run, moment, LIMITS), "worker-3", moment, LIMITS)


def handed_back(run: Run) -> Run:
    return lifecycle.claim(lifecycle.hand_back(run, run.fencing_token, later(2)), "worker-4", later(2), LIMITS)


def modes(run: Run) -> list[AttemptMode]:
    return [attempt.mode for attempt in run.attempts]


def test_extra_modes_follow_from_the_configuration() -> None:
    assert extra_modes(RunConfig()) == ()
    assert extra_modes(RunConfig(cache_retry_mode=CacheRetryMode.STEP, fallback_trigger=FallbackTrigger.NEVER)) == ()
    whole = RunConfig(cache_retry_mode=CacheRetryMode.FULL_RERUN, fallback_trigger=FallbackTrigger.FINAL_FAIL)
    assert extra_modes(whole) == BOTH


def test_a_cache_failure_earns_an_extra_attempt_without_the_cache() -> None:
    run = then(begun(AttemptMode.UNCACHED), CACHE_FAILED)
    assert (modes(run), may_use_cache(run)) == ([AttemptMode.USUAL, AttemptMode.UNCACHED], False)
    over = then(run, failing())
    assert (over.status, over.success, len(over.attempts)) == (Status.COMPLETED, False, 2)


def test_retries_after_a_cache_failure_do_not_use_the_cache() -> None:
    run = then(then(begun(AttemptMode.UNCACHED, retries=1), CACHE_FAILED), failing())
    assert (modes(run), may_use_cache(run)) == ([AttemptMode.USUAL, AttemptMode.UNCACHED, AttemptMode.USUAL], False)
    assert then(run, CACHE_FAILED).status is Status.COMPLETED


def test_other_failures_earn_no_attempt_without_the_cache() -> None:
    for extra, result in (((AttemptMode.UNCACHED,), failing()), ((), CACHE_FAILED)):
        assert then(begun(*extra), result).status is Status.COMPLETED
    passed = then(begun(AttemptMode.UNCACHED), replace(passing(), cache_failed=True))
    assert (passed.success, len(passed.attempts)) == (True, 1)


def test_after_the_last_failing_verdict_one_attempt_may_ask_a_model() -> None:
    run = begun(AttemptMode.MODEL, retries=1)
    assert not may_ask_model(run)
    run = then(run, failing())
    assert not may_ask_model(run)
    run = then(run, failing())
    assert (modes(run), may_ask_model(run)) == ([AttemptMode.USUAL, AttemptMode.USUAL, AttemptMode.MODEL], True)
    assert then(run, failing()).status is Status.COMPLETED
    assert then(run, passing()).success is True


def test_without_final_fail_every_attempt_may_ask_a_model() -> None:
    assert may_ask_model(begun())
    assert may_use_cache(begun())


def test_each_extra_mode_is_used_once() -> None:
    run = begun(*BOTH)
    for _ in range(2):
        run = then(run, CACHE_FAILED)
    assert modes(run) == [AttemptMode.USUAL, AttemptMode.UNCACHED, AttemptMode.MODEL]
    assert not may_use_cache(run)
    assert then(run, CACHE_FAILED).status is Status.COMPLETED


@pytest.mark.parametrize("gone", [lost, handed_back])
@pytest.mark.parametrize("extra", BOTH)
def test_an_interrupted_extra_attempt_is_repeated_once(extra: AttemptMode, gone: object) -> None:
    run = then(begun(extra), CACHE_FAILED)
    assert modes(run)[-1] is extra
    again = gone(run)  # type: ignore[operator]
    assert modes(again) == [AttemptMode.USUAL, extra, extra]
    assert then(again, CACHE_FAILED).status is Status.COMPLETED


@pytest.mark.parametrize("gone", [lost, handed_back])
def test_an_interrupted_usual_attempt_does_not_count(gone: object) -> None:
    run = gone(begun(*BOTH))  # type: ignore[operator]
    assert modes(run) == [AttemptMode.USUAL, AttemptMode.USUAL]
    assert may_use_cache(run)
    assert not may_ask_model(run)


@pytest.mark.parametrize(
    "category",
    [Category.LLM_BUDGET_EXCEEDED, Category.CONFIG_INVALID, Category.RUN_TIMEOUT, Category.UNKNOWN],
)
def test_an_extra_attempt_with_a_model_can_only_improve_the_verdict(category: Category) -> None:
    run = then(then(begun(AttemptMode.MODEL), failing()), failing(category))
    assert (run.status, run.success) == (Status.COMPLETED, False)
    assert run.failure is not None
    assert run.failure.category is Category.ASSERTION_FAILED
    assert run.attempts[-1].failure is not None
    assert run.attempts[-1].failure.category is category


def test_an_unavailable_model_leaves_the_verdict_unchanged() -> None:
    run = then(begun(AttemptMode.MODEL), failing())
    for _ in range(1 + LIMITS.infrastructure_retries):
        run = then(run, failing(Category.LLM_UNAVAILABLE))
    assert (run.status, run.success, len(run.attempts)) == (Status.COMPLETED, False, 4)


def test_a_cancelled_extra_attempt_is_a_cancelled_run() -> None:
    run = then(begun(AttemptMode.MODEL), failing())
    asked = lifecycle.request_cancel(run, later(11))
    assert then(asked, failing(Category.CANCELLED_BY_USER)).status is Status.CANCELLED


@pytest.mark.parametrize(
    ("run", "result", "flaky"),
    [
        (then(then(begun(AttemptMode.MODEL, retries=1), failing()), failing()), passing(), False),
        (then(begun(AttemptMode.UNCACHED), CACHE_FAILED), passing(), False),
        (then(then(begun(AttemptMode.UNCACHED, retries=1), failing()), CACHE_FAILED), passing(), True),
        (then(begun(retries=1), failing()), replace(passing(), human_helped=True), False),
        (then(begun(retries=1), failing()), passing(), True),
    ],
    ids=["needs a model", "cache failed", "failed and cache failed", "human help", "failed"],
)
def test_a_pass_is_flaky_if_the_same_attempt_failed_before(run: Run, result: AttemptResult, flaky: bool) -> None:
    assert then(run, result).flaky is flaky
