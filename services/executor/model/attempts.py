"""One attempt of a run: which worker made it, on which device, its steps, and how it ended."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from services.executor.model.failures import CANCELLATIONS, Category, Failure, Fault
from services.executor.model.states import Status, advance
from services.flows.positions import SourcePosition


class StepStatus(StrEnum):
    """How a step ended: `warned` is an optional step that failed, `skipped` one whose condition was false."""

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
    """What an attempt may use. Usual attempts use what the configuration allows; the other two are extra attempts."""

    USUAL = "usual"
    UNCACHED = "uncached"
    """Without the step cache, after a cached action failed (cache_retry_mode full_rerun)."""
    MODEL = "model"
    """With a model, after the last failing verdict (fallback_trigger final_fail)."""


class CacheOutcome(StrEnum):
    """What the step cache returned: `stale` is an action that could no longer be carried out."""

    HIT = "hit"
    MISS = "miss"
    STALE = "stale"


class ArtifactGone(StrEnum):
    """Why an artifact is no longer available."""

    EXPIRED = "expired"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A stored file of an attempt. `name` is unique within the run; `gone` is None while the file is available."""

    name: str
    kind: str
    content_type: str
    size_bytes: int
    gone: ArtifactGone | None = None


@dataclass(frozen=True, slots=True)
class ScreenArea:
    """A rectangle on a screenshot, from its top left corner, as shares (0..1) of its width and height."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What one step of a test did. `index` and `depth` count from 0; `screenshot` and `tree` are names of artifacts.

    `element_area` is where the element is on the screenshot, `position` where the step is written. `cache` is None when
    the step cache was not used.
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
    element_area: ScreenArea | None = None
    message: str = ""
    category: Category | None = None
    screenshot: str = ""
    depth: int = 0
    tree: str = ""
    cache: CacheOutcome | None = None
    model_calls: int = 0
    model_tokens: int = 0
    position: SourcePosition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """What a worker reports at the end of an attempt, which passed when there is no failure.

    `simulated` is None without a device, and `built_in_model` unless a simulated one has an app. `cache_failed`: an
    action from the step cache failed. `human_helped`: a person's answer let a step continue.
    """

    failure: Failure | None = None
    device: str | None = None
    simulated: bool | None = None
    built_in_model: bool | None = None
    steps: tuple[StepResult, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    cache_failed: bool = False
    human_helped: bool = False


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
        steps=result.steps,
        artifacts=result.artifacts,
        cache_failed=result.cache_failed,
        human_helped=result.human_helped,
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
