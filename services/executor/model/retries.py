"""In which mode a run is tried next after a failing verdict, if it is: retries, and the attempts beyond them."""

from services.executor.model.attempts import Attempt, AttemptMode
from services.executor.model.failures import CANCELLATIONS, Failure, Fault
from services.executor.model.run_config import CacheRetryMode, FallbackTrigger, RunConfig
from services.executor.model.runs import Run


def extra_modes(config: RunConfig) -> tuple[AttemptMode, ...]:
    """The attempts beyond `retries` that a configuration allows, once each."""
    uncached = (AttemptMode.UNCACHED,) if config.cache_retry_mode is CacheRetryMode.FULL_RERUN else ()
    return (*uncached, AttemptMode.MODEL) if config.fallback_trigger is FallbackTrigger.FINAL_FAIL else uncached


def next_mode(run: Run) -> AttemptMode | None:
    """How the run is tried next, judged by its failing verdicts alone: attempts without one change nothing of it, so
    that an extra attempt whose worker was lost is made again, and one that has a verdict is not.
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
    """Whether the newest attempt may use the step cache: not after it failed one, where it is then to do without."""
    return AttemptMode.UNCACHED not in run.extra_modes or not any(attempt.cache_failed for attempt in run.attempts)


def may_ask_model(run: Run) -> bool:
    """Whether the newest attempt may ask a model, as far as fallback_trigger final_fail goes."""
    return AttemptMode.MODEL not in run.extra_modes or run.attempts[-1].mode is AttemptMode.MODEL


def final_failure(run: Run, failure: Failure) -> Failure:
    """Why the run ends: an attempt in which the model may be asked can only better the verdict that there is."""
    verdicts = [attempt for attempt in run.attempts if attempt.failed_verdict]
    last: Attempt = run.attempts[-1]
    without = failure.category.fault is not Fault.TEST and failure.category not in CANCELLATIONS
    if last.mode is AttemptMode.MODEL and without and verdicts and verdicts[-1].failure is not None:
        return verdicts[-1].failure
    return failure
