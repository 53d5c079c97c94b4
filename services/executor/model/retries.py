"""Whether and how a run is attempted again after a failing verdict: retries, and the extra attempts beyond them."""

from mobiletest_automation.model.attempts import Attempt, AttemptMode
from mobiletest_automation.model.failures import CANCELLATIONS, Failure, Fault
from mobiletest_automation.model.run_config import CacheRetryMode, FallbackTrigger, RunConfig
from services.executor.model.runs import Run


def extra_modes(config: RunConfig) -> tuple[AttemptMode, ...]:
    """The extra attempts that a configuration allows beyond `retries`, once each."""
    uncached = (AttemptMode.UNCACHED,) if config.cache_retry_mode is CacheRetryMode.FULL_RERUN else ()
    return (*uncached, AttemptMode.MODEL) if config.fallback_trigger is FallbackTrigger.FINAL_FAIL else uncached


def next_mode(run: Run) -> AttemptMode | None:
    """The mode of the next attempt, None for no more attempts. Only failing verdicts count: an extra attempt whose
    worker was lost is repeated, one with a verdict is not.
    """
    failed = [attempt for attempt in run.attempts if attempt.failed_verdict]
    had = {attempt.mode for attempt in failed}
    if (
        failed
        and failed[-1].cache_failed
        and AttemptMode.UNCACHED in run.extra_modes
        and AttemptMode.UNCACHED not in had
    ):
        return AttemptMode.UNCACHED
    if sum(attempt.mode is AttemptMode.USUAL for attempt in failed) <= run.retries:
        return AttemptMode.USUAL
    return AttemptMode.MODEL if AttemptMode.MODEL in run.extra_modes and AttemptMode.MODEL not in had else None


def may_use_cache(run: Run) -> bool:
    """Whether the latest attempt may use the step cache: with full_rerun, not after a cached action failed."""
    return AttemptMode.UNCACHED not in run.extra_modes or not any(attempt.cache_failed for attempt in run.attempts)


def may_ask_model(run: Run) -> bool:
    """Whether fallback_trigger allows the latest attempt to ask a model."""
    return AttemptMode.MODEL not in run.extra_modes or run.attempts[-1].mode is AttemptMode.MODEL


def final_failure(run: Run, failure: Failure) -> Failure:
    """Why the run ends. If the extra attempt with a model ends without a verdict, the earlier verdict stands."""
    verdicts = [attempt for attempt in run.attempts if attempt.failed_verdict]
    last: Attempt = run.attempts[-1]
    without = failure.category.fault is not Fault.TEST and failure.category not in CANCELLATIONS
    if last.mode is AttemptMode.MODEL and without and verdicts and verdicts[-1].failure is not None:
        return verdicts[-1].failure
    return failure
