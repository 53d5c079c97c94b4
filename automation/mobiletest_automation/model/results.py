"""What an attempt reports: its steps, its artifacts, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.flows.step_places import StepPlace
from mobiletest_automation.model.failures import Category, Failure

# The content types of kept screens: `screen.stored_trees` writes the first.
TREE = "application/vnd.mobiletest.tree"
WEBP = "image/webp"


class StepStatus(StrEnum):
    """How a step ended: `warned` is an optional step that failed, `skipped` one whose condition was false.

    Only an attempt under way has steps that are `running`.
    """

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    SKIPPED = "skipped"
    RUNNING = "running"


class Resolution(StrEnum):
    """How a step found its action."""

    COMMAND = "command"
    RULE = "rule"
    CACHE = "cache"
    MODEL = "model"


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
class BoundElement:
    """The element of an action or a check, as `screen.identity` describes it; `role` is one of `screen.elements.Role`.

    `area` is None for an element that is not on the screen.
    """

    role: str
    id: str = ""
    label: str = ""
    text: str = ""
    hint: str = ""
    path: str = ""
    ancestors: tuple[str, ...] = ()
    area: ScreenArea | None = None
    found_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScreen:
    """The screen before an action, or that on which a check was decided.

    `tree` and `picture` are hashes, empty for what was not kept, and `lost` says why. `picture_reused`: the picture is
    of another step or run of the build, at which the same device showed the same elements.
    """

    fingerprint: str = ""
    tree: str = ""
    picture: str = ""
    element: BoundElement | None = None
    lost: str = ""
    picture_reused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What one step of a test did. `index` and `depth` count from 0; `screenshot` and `tree` are names of artifacts.

    `element_area` is where the element is on the screenshot, `position` where the step is written. `place` says which
    step of the test it is, None for what a model planned or a person's answer did instead. `cache` is None when the
    step cache was not used.
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
    place: StepPlace | None = None
    screen: StepScreen | None = None


def end_steps(steps: Sequence[StepResult]) -> tuple[StepResult, ...]:
    """The steps of an attempt that has ended. One that did not end is a warning: nobody knows how it would have."""
    return tuple(
        replace(step, status=StepStatus.WARNED, message="not finished") if step.status is StepStatus.RUNNING else step
        for step in steps
    )


@dataclass(frozen=True, slots=True)
class BindingChange:
    """A step of an attempt that passed has bound another element than in its last passes, as `message` says."""

    step_index: int
    message: str


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
    bindings_changed: tuple[BindingChange, ...] = ()
