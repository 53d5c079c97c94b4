"""What events tell: whole snapshots with a revision, of runs and executions and of what the catalog has."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.reporting.model.attempts import BuildRef
from services.reporting.model.quarantine import Quarantine


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
        """Nothing follows."""
        return self in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Outcome(StrEnum):
    """How a finished run counts; the values are the names of the counters."""

    PASSED = "passed"
    FAILED = "failed"
    INFRA_FAILED = "infra_failed"
    CANCELLED = "cancelled"

    @property
    def verdict(self) -> bool:
        """Whether a verdict was reached."""
        return self in (Outcome.PASSED, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run or attempt did not pass; step_index is None when no step was reached.

    `reason` is the message without what surrounded it (what else was on the screen), empty when nobody said it apart.
    """

    category: str
    message: str
    step_kind: str = ""
    step_index: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AttemptSnapshot:
    """One try; `passed` is None when it has no verdict (infrastructure, cancelled, still running)."""

    number: int
    started_at: datetime
    passed: bool | None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
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

    @property
    def key(self) -> str:
        """What makes two snapshots ones of the same thing."""
        return self.run_id

    @property
    def outcome(self) -> Outcome | None:
        """How the run counts; None while it is not finished."""
        if self.status is Status.COMPLETED:
            return Outcome.PASSED if self.success else Outcome.FAILED
        return {Status.FAILED: Outcome.INFRA_FAILED, Status.CANCELLED: Outcome.CANCELLED}.get(self.status)

    @property
    def ended_at(self) -> datetime:
        """When it ended, as far as is known; the day of this moment is the one that it counts on."""
        return self.completed_at or self.event_time

    @property
    def under_way_since(self) -> datetime:
        """When it started, else when it was accepted: the same whichever event tells it."""
        return self.started_at or self.created_at or self.event_time

    @property
    def listed_at(self) -> datetime:
        """What lists are sorted by: when it was accepted. Events before 2026-11-21 do not say that: the start then, of
        what never started the end, of what waits the last news.
        """
        return self.created_at or self.started_at or self.completed_at or self.event_time

    @property
    def last_failure(self) -> Failure | None:
        """Of the last attempt, else of the run itself."""
        last = self.attempts[-1].failure if self.attempts else None
        return last or self.failure


@dataclass(frozen=True, slots=True)
class ExecutionSnapshot:
    """An execution as an event tells it; `total` is the number of its runs."""

    execution_id: str
    org_id: str
    revision: int
    total: int

    @property
    def key(self) -> str:
        return self.execution_id


@dataclass(frozen=True, slots=True)
class AppSnapshot:
    """An app as the catalog tells it; its revision rises with its builds and attachments too."""

    app_id: str
    org_id: str
    revision: int
    deleted: bool
    name: str
    current_version: str | None

    @property
    def key(self) -> str:
        return self.app_id


@dataclass(frozen=True, slots=True)
class BuildSnapshot:
    """A build as the catalog tells it."""

    build_id: str
    org_id: str
    revision: int
    deleted: bool
    app_id: str
    version: str
    uploaded_at: datetime

    @property
    def key(self) -> str:
        return self.build_id


@dataclass(frozen=True, slots=True)
class TestSnapshot:
    """A test as the catalog tells it; platform None: it runs on both. `version` is that of its steps."""

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

    @property
    def key(self) -> str:
        return self.test_id


@dataclass(frozen=True, slots=True)
class AttachmentSnapshot:
    """A test's tie to an app as the catalog tells it; pinned_version None: it follows the app."""

    app_id: str
    test_id: str
    org_id: str
    revision: int
    attached: bool
    pinned_version: str | None
    test_name: str

    @property
    def key(self) -> tuple[str, str]:
        return (self.app_id, self.test_id)
