"""One attempt of a run: which worker made it, on which device, its steps, and how it ended."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from mobiletest_automation.model.failures import CANCELLATIONS, Category, Failure, Fault
from mobiletest_automation.model.results import Artifact, AttemptResult, BindingChange, StepResult, end_steps
from mobiletest_automation.model.states import Status, advance


class AttemptMode(StrEnum):
    """What an attempt may use. Usual attempts use what the configuration allows; the other two are extra attempts."""

    USUAL = "usual"
    # Without the step cache, after a cached action failed (cache_retry_mode full_rerun).
    UNCACHED = "uncached"
    # With a model, after the last failing verdict (fallback_trigger final_fail).
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A numbered attempt. `handed_back` marks one that a worker gave up on shutdown; it does not count as a retry.

    `steps` are stored separately, and empty when they were not requested.
    """

    number: int
    worker: str
    started_at: datetime
    status: Status = Status.RUNNING
    success: bool | None = None
    completed_at: datetime | None = None
    device: str | None = None
    simulated: bool | None = None
    built_in_model: bool | None = None
    failure: Failure | None = None
    handed_back: bool = False
    mode: AttemptMode = AttemptMode.USUAL
    cache_failed: bool = False
    human_helped: bool = False
    bindings_changed: tuple[BindingChange, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    steps: tuple[StepResult, ...] = ()

    @property
    def failed_verdict(self) -> bool:
        return self.status is Status.COMPLETED and self.success is False

    @property
    def abandoned(self) -> bool:
        """Whether its worker was lost, so that the next attempt needs another worker."""
        return self.failure is not None and self.failure.category is Category.EXECUTOR_LOST

    @property
    def failed_by_infrastructure(self) -> bool:
        return self.failure is not None and self.failure.category.fault is Fault.INFRASTRUCTURE and not self.handed_back


def verdict(failure: Failure | None) -> tuple[Status, bool | None]:
    """The status and success that follow from a failure, or from its absence."""
    if failure is None:
        return Status.COMPLETED, True
    if failure.category.fault is Fault.TEST:
        return Status.COMPLETED, False
    if failure.category in CANCELLATIONS:
        return Status.CANCELLED, None
    return Status.FAILED, None


def close_attempt(attempt: Attempt, result: AttemptResult, now: datetime) -> Attempt:
    """The attempt, closed with the worker's result."""
    status, success = verdict(result.failure)
    return replace(
        attempt,
        status=advance(attempt.status, status),
        success=success,
        completed_at=now,
        failure=result.failure,
        device=result.device or attempt.device,
        simulated=attempt.simulated if result.simulated is None else result.simulated,
        built_in_model=result.built_in_model,
        steps=end_steps(result.steps),
        artifacts=result.artifacts,
        cache_failed=result.cache_failed,
        human_helped=result.human_helped,
        bindings_changed=result.bindings_changed,
    )


def is_flaky(attempts: Iterable[Attempt]) -> bool:
    """Whether a test passed after it had failed under the same conditions: the last attempt passed, and an earlier one
    has a failing verdict.

    A pass that needed a model or a person does not count, and neither does a failure caused by the step cache.
    """
    tried = [attempt for attempt in attempts if attempt.success is not None]
    if not tried or not tried[-1].success or tried[-1].mode is AttemptMode.MODEL or tried[-1].human_helped:
        return False
    return any(
        one.failed_verdict and not (one.cache_failed and then.mode is AttemptMode.UNCACHED)
        for one, then in pairwise(tried)
    )


def simulation(attempts: Sequence[Attempt], version: str | None) -> str | None:
    """What a simulated device ran instead of the app, in a sentence; None if the last attempt had no such device.

    `version` is that of the build, None for an unknown one.
    """
    last = attempts[-1] if attempts else None
    if last is None or not last.simulated:
        return None
    build = f"build {version}" if version else "the build"
    if last.built_in_model is None:
        return f"A simulated device runs a model instead of the app ({build})."
    if last.built_in_model:
        return f"A simulated device ran its built-in model instead of {build}: the result says nothing about {build}."
    return f"A simulated device ran a model of the app instead of the app ({build})."
