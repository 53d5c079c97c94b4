"""What events carry: whole snapshots, with a revision, of runs, executions and the catalog's resources."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from services.reporting.model.attempts import BuildRef
from services.reporting.model.variants import EMPTY_VARIANT, Subject, Variant, subject_of


class Status(StrEnum):
    """The life cycle of a run; the last three are terminal."""

    INITIALIZING = "initializing"
    INITIALIZED = "initialized"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether no other status follows."""
        return self in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Outcome(StrEnum):
    """How a finished run counts; the values are the names of the counters."""

    PASSED = "passed"
    FAILED = "failed"
    INFRA_FAILED = "infra_failed"
    CANCELLED = "cancelled"

    @property
    def verdict(self) -> bool:
        """Whether the test passed or failed, rather than its infrastructure."""
        return self in (Outcome.PASSED, Outcome.FAILED)


class RunResult(StrEnum):
    """How a run ended, as lists are filtered by it. One that is FLAKY has passed, after a failed attempt."""

    PASSED = "passed"
    FAILED = "failed"
    NO_VERDICT = "no_verdict"
    FLAKY = "flaky"
    CANCELLED = "cancelled"


def run_result(status: Status, *, success: bool | None, flaky: bool) -> RunResult | None:
    """The result of a run; None while it has not ended. FLAKY instead of PASSED if the executor says so."""
    if status is Status.COMPLETED:
        passed = RunResult.FLAKY if flaky else RunResult.PASSED
        return passed if success else RunResult.FAILED
    return {Status.FAILED: RunResult.NO_VERDICT, Status.CANCELLED: RunResult.CANCELLED}.get(status)


# A file, a line and a column.
SourcePosition: TypeAlias = tuple[str, int, int]


class Simulation(StrEnum):
    """What a simulated device ran instead of the app: a model of it, or the device's own, of any build."""

    MODEL = "model"
    BUILT_IN_MODEL = "built_in_model"

    @classmethod
    def of(cls, *, simulated: bool, built_in_model: bool) -> "Simulation | None":
        """From what the executor says of a run's last attempt; None for a real device, or none."""
        if not simulated:
            return None
        return cls.BUILT_IN_MODEL if built_in_model else cls.MODEL


@dataclass(slots=True, unsafe_hash=True)
class Failure:
    """Why a run or attempt did not pass; step_index is None when no step was reached.

    `position` is where that step is written, None if it is not known: a step that moved fails in the same way.
    `reason` is the message without its context (what else was on the screen), empty when it was not given separately.
    """

    category: str
    message: str
    step_kind: str = ""
    step_index: int | None = None
    reason: str = ""
    position: SourcePosition | None = None


@dataclass(slots=True, unsafe_hash=True)
class AttemptSnapshot:
    """One try; `passed` is None when it has no verdict (infrastructure, cancelled, still running)."""

    number: int
    started_at: datetime
    passed: bool | None
    failure: Failure | None = None


@dataclass(slots=True, unsafe_hash=True)
class RunSnapshot:
    """A run as an event describes it; `list_item` is the run as lists show it, a serialised BuildRunItem."""

    run_id: str
    org_id: str
    revision: int
    execution_id: str
    test_id: str
    test_name: str
    test_version: int
    status: Status
    event_time: datetime
    app_id: str | None = None
    build: BuildRef | None = None
    success: bool | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    seconds: float | None = None
    branch: str | None = None
    commit_sha: str | None = None
    created_at: datetime | None = None
    attempts: tuple[AttemptSnapshot, ...] = ()
    failure: Failure | None = None
    list_item: bytes = b""
    variant: Variant = EMPTY_VARIANT
    simulation: Simulation | None = None
    bindings_changed: bool = False
    repository: str | None = None
    ci_system: str | None = None
    pr_number: int | None = None
    flaky: bool = False

    @property
    def subject(self) -> Subject:
        """The test in the variant of the run."""
        return subject_of(self.test_id, self.variant.id)

    @property
    def outcome(self) -> Outcome | None:
        """How the run counts; None while it is not finished."""
        if self.status is Status.COMPLETED:
            return Outcome.PASSED if self.success else Outcome.FAILED
        return {Status.FAILED: Outcome.INFRA_FAILED, Status.CANCELLED: Outcome.CANCELLED}.get(self.status)

    @property
    def result(self) -> RunResult | None:
        """How lists are filtered; None while it is not finished."""
        return run_result(self.status, success=self.success, flaky=self.flaky)

    @property
    def ended_at(self) -> datetime:
        """When it ended, else when that was published; the run counts on this day."""
        return self.completed_at or self.event_time

    @property
    def under_way_since(self) -> datetime:
        """When it started, else when it was accepted: the same in every event of the run."""
        return self.started_at or self.created_at or self.event_time

    @property
    def listed_at(self) -> datetime:
        """What lists are sorted by: when it was accepted, or the first of these moments that its event has."""
        return self.created_at or self.started_at or self.completed_at or self.event_time

    @property
    def last_failure(self) -> Failure | None:
        """The failure of the last attempt, else of the run itself."""
        last = self.attempts[-1].failure if self.attempts else None
        return last or self.failure


@dataclass(frozen=True, slots=True)
class ExecutionSnapshot:
    """An execution as an event describes it; `total` is the number of its runs."""

    execution_id: str
    org_id: str
    revision: int
    total: int


@dataclass(frozen=True, slots=True)
class AppSnapshot:
    """An app as the catalog describes it; its revision rises with its builds and attachments too."""

    app_id: str
    org_id: str
    revision: int
    deleted: bool
    name: str
    current_version: str | None


@dataclass(frozen=True, slots=True)
class BuildSnapshot:
    """A build as the catalog describes it."""

    build_id: str
    org_id: str
    revision: int
    deleted: bool
    app_id: str
    version: str
    uploaded_at: datetime


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The failures of a test are counted and shown, but block no gate. `by` set it; `until` may be in the past."""

    reason: str
    until: datetime
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class TestSnapshot:
    """A test as the catalog describes it; platform None: it runs on both. `version` is that of its steps."""

    __test__ = False

    test_id: str
    org_id: str
    revision: int
    deleted: bool
    name: str
    platform: str | None = None
    tags: tuple[str, ...] = ()
    version: int = 0
    created_at: datetime | None = None
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class AttachmentSnapshot:
    """The attachment of a test to an app; pinned_version None: it follows the app."""

    app_id: str
    test_id: str
    org_id: str
    revision: int
    attached: bool
    pinned_version: str | None
    test_name: str


def active_quarantine(quarantine: Quarantine | None, now: datetime) -> Quarantine | None:
    """The quarantine if it has not expired."""
    return quarantine if quarantine is not None and quarantine.until > now else None


def active_quarantines(known: Mapping[str, Quarantine | None], now: datetime) -> dict[str, Quarantine]:
    """The quarantines that have not expired, by test."""
    return {test_id: quarantine for test_id, quarantine in known.items() if quarantine and quarantine.until > now}
