"""In which mode a run is tried next after a failing verdict, if it is: retries, and the attempts beyond them."""

from services.executor.model.attempts import Attempt, Mode
from services.executor.model.failures import CANCELLATIONS, Failure, Fault
from services.executor.model.run_config import CacheRetryMode, FallbackTrigger, RunConfig
from services.executor.model.runs import Run


def extra_modes(config: RunConfig) -> tuple[Mode, ...]:
    """The attempts beyond `retries` that a configuration allows, once each."""
    uncached = (Mode.UNCACHED,) if config.cache_retry_mode is CacheRetryMode.FULL_RERUN else ()
    return (*uncached, Mode.MODEL) if config.fallback_trigger is FallbackTrigger.FINAL_FAIL else uncached


def next_mode(run: Run) -> Mode | None:
    """How the run is tried next, judged by its failing verdicts alone: attempts without one change nothing of it, so
    that an extra attempt whose worker was lost is made again, and one that has a verdict is not.
    """
    failed = [attempt for attempt in run.attempts if attempt.failed_verdict]
    had = {attempt.mode for attempt in failed}
    if failed and failed[-1].cache_failed and Mode.UNCACHED in run.extra_modes and Mode.UNCACHED not in had:
        return Mode.UNCACHED
    if sum(attempt.mode is Mode.USUAL for attempt in failed) <= run.retries:
        return Mode.USUAL
    return Mode.MODEL if Mode.MODEL in run.extra_modes and Mode.MODEL not in had else None


def uses_cache(run: Run) -> bool:
    """Whether the newest attempt may use the step cache: not after it failed one, where it is then to do without."""
    return Mode.UNCACHED not in run.extra_modes or not any(attempt.cache_failed for attempt in run.attempts)


def asks_model(run: Run) -> bool:
    """Whether the newest attempt may ask a model, as far as fallback_trigger final_fail goes."""
    return Mode.MODEL not in run.extra_modes or run.attempts[-1].mode is Mode.MODEL


def standing(run: Run, failure: Failure) -> Failure:
    """Why the run ends: an attempt in which the model may be asked can only better the verdict that there is."""
    verdicts = [attempt for attempt in run.attempts if attempt.failed_verdict]
    last: Attempt = run.attempts[-1]
    without = failure.category.fault is not Fault.TEST and failure.category not in CANCELLATIONS
    if last.mode is Mode.MODEL and without and verdicts and verdicts[-1].failure is not None:
        return verdicts[-1].failure
    return failure
