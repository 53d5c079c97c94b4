"""Extra attempts: without the step cache after a cached action failed, and with a model after the last failure."""

from dataclasses import replace

import pytest

from mobiletest_automation.model.attempts import AttemptMode
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import CacheRetryMode, FallbackTrigger, RunConfig
from mobiletest_automation.model.states import Status
from services.executor.model import lifecycle
from services.executor.model.retries import extra_modes, may_ask_model, may_use_cache
from services.executor.model.runs import Run
from tests.unit.executor.model.builders import LIMITS, claimed_run, failing, later, passing

CACHE_FAILED = replace(failing(), cache_failed=True)
BOTH = (AttemptMode.UNCACHED, AttemptMode.MODEL)


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
