"""One try of a run: who tried it, on what device, step by step, and how it ended."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from services.executor.model.failures import CANCELLATIONS, Category, Failure, Fault
from services.executor.model.states import Status, advance


class StepStatus(StrEnum):
    """How a step ended: warned is a failed step that was optional, skipped one whose condition did not hold."""

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    SKIPPED = "skipped"


class Resolution(StrEnum):
    """How a step found its action."""

    COMMAND = "command"
    RULE = "rule"
    CACHE = "cache"
    MODEL = "model"


class AttemptMode(StrEnum):
    """What an attempt may use: the first ones all that the configuration says, the extra ones what helps after that."""

    USUAL = "usual"
    UNCACHED = "uncached"
    """After an action from the step cache went wrong (cache_retry_mode full_rerun)."""
    MODEL = "model"
    """After the last failing verdict, now with a model (fallback_trigger final_fail)."""


class CacheOutcome(StrEnum):
    """What the step cache knew: stale is an action that could not be carried out any more."""

    HIT = "hit"
    MISS = "miss"
    STALE = "stale"


class ArtifactGone(StrEnum):
    """Why an artifact cannot be had any more."""

    EXPIRED = "expired"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Something kept about an attempt; `name` is unique within the run, `gone` None as long as it can be had."""

    name: str
    kind: str
    content_type: str
    size_bytes: int
    gone: ArtifactGone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What one step of a test did. `index` and `depth` count from 0; `screenshot` and `tree` are names of artifacts.

    `cache` is None where the step cache was not asked.
    """

    index: int
    kind: str
    text: str
    status: StepStatus
    started_at: datetime
    duration_seconds: float = 0.0
    resolution: Resolution | None = None
    action: str = ""
    element: str = ""
    message: str = ""
    category: Category | None = None
    screenshot: str = ""
    depth: int = 0
    tree: str = ""
    cache: CacheOutcome | None = None
    model_calls: int = 0
    model_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What a worker says at the end of an attempt: it passed when there is no failure.

    `cache_failed` says that an action from the step cache went wrong on the way, `human_helped` that a person's answer
    brought a step further.
    """

    failure: Failure | None = None
    device: str | None = None
    simulated: bool = False
    steps: tuple[StepResult, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    cache_failed: bool = False
    human_helped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A numbered try. `handed_back` marks one that a stopping worker gave up; it counts for nothing.

    `steps` are kept apart and empty where nobody asked for them.
    """

    number: int
    worker: str
    started_at: datetime
    status: Status = Status.RUNNING
    success: bool | None = None
    completed_at: datetime | None = None
    device: str | None = None
    simulated: bool = False
    failure: Failure | None = None
    handed_back: bool = False
    mode: AttemptMode = AttemptMode.USUAL
    cache_failed: bool = False
    human_helped: bool = False
    artifacts: tuple[Artifact, ...] = ()
    steps: tuple[StepResult, ...] = ()

    @property
    def failed_verdict(self) -> bool:
        return self.status is Status.COMPLETED and self.success is False

    @property
    def abandoned(self) -> bool:
        """Whether its worker went away without a result, so that no worker is at hand for the next attempt."""
        return self.failure is not None and self.failure.category is Category.EXECUTOR_LOST

    @property
    def failed_by_infrastructure(self) -> bool:
        return self.failure is not None and self.failure.category.fault is Fault.INFRASTRUCTURE and not self.handed_back


def verdict(failure: Failure | None) -> tuple[Status, bool | None]:
    """How something ended with this failure, or without one: its status and its success."""
    if failure is None:
        return Status.COMPLETED, True
    if failure.category.fault is Fault.TEST:
        return Status.COMPLETED, False
    if failure.category in CANCELLATIONS:
        return Status.CANCELLED, None
    return Status.FAILED, None


def close_attempt(attempt: Attempt, result: AttemptResult, now: datetime) -> Attempt:
    """The attempt, closed with what the worker said."""
    status, success = verdict(result.failure)
    return replace(
        attempt,
        status=advance(attempt.status, status),
        success=success,
        completed_at=now,
        failure=result.failure,
        device=result.device or attempt.device,
        simulated=result.simulated or attempt.simulated,
        steps=result.steps,
        artifacts=result.artifacts,
        cache_failed=result.cache_failed,
        human_helped=result.human_helped,
    )


def is_flaky(attempts: Iterable[Attempt]) -> bool:
    """Whether a test passed after it had failed under the same conditions: the last attempt passed, and an earlier one
    has a failing verdict.

    A pass that took a model or a person more than the failures had is none; and a failure of the step cache, which was
    therefore done without, is not the test's.
    """
    tried = [attempt for attempt in attempts if attempt.success is not None]
    if not tried or not tried[-1].success or tried[-1].mode is AttemptMode.MODEL or tried[-1].human_helped:
        return False
    return any(
        one.failed_verdict and not (one.cache_failed and then.mode is AttemptMode.UNCACHED)
        for one, then in pairwise(tried)
    )
