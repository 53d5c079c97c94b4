"""A run: one test on one platform inside an execution, with its lease and its attempts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from services.executor.model.attempts import Attempt, AttemptMode, is_flaky
from services.executor.model.failures import Failure
from services.executor.model.questions import Question
from services.executor.model.states import Status


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How long things may take, how often infrastructure may fail, and how many runs an organisation may have under way
    over all workers (None: any number).
    """

    queue_timeout: timedelta = timedelta(hours=1)
    run_timeout: timedelta = timedelta(minutes=30)
    lease_ttl: timedelta = timedelta(seconds=15)
    infrastructure_retries: int = 2
    infrastructure_backoff: timedelta = timedelta(seconds=1)
    organisation_runs: int | None = None


class Platform(StrEnum):
    """What a run needs a device of."""

    IOS = "iOS"
    ANDROID = "Android"


@dataclass(frozen=True, slots=True)
class RunTarget:
    """What a run is about: names and ids as they were when it was started; None where nothing was found."""

    test_id: str
    test_name: str
    test_version_number: int
    platform: Platform | None = None
    app_id: str | None = None
    app_name: str | None = None
    build_id: str | None = None
    resolved_build_version: str | None = None
    build_uploaded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A driver's session: the address of its hub, and its id there. Whoever finds it left behind deletes it."""

    hub: str
    id: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """A session that its worker may have left behind; `since` is when that was found, on the database's clock."""

    hub: str
    id: str
    since: datetime

    @property
    def session(self) -> Session:
        return Session(self.hub, self.id)


@dataclass(frozen=True, slots=True)
class RunLease:
    """The right of one worker to write a run, until `expires_at` on the database's clock.

    `session` is the one that the worker has open on a device for this run.
    """

    worker: str
    expires_at: datetime
    session: Session | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One test on one platform. Times are UTC on the database's clock.

    `claimable_at` is when a worker may take it, None while it may not. `fencing_token` rises with each claim, and
    whenever a lease is taken away. `deadline_at` is set by the first claim. `orphans` are sessions to be deleted.
    `turn` is its place among the runs of its execution when they are claimed, from 0; `position` its place in lists.
    `superseded_by` is the execution that it is cancelled for. `extra_modes` are attempts beyond `retries` that may be
    made, once each. `question` is the newest attempt's latest.
    """

    id: str
    execution_id: str
    org_id: str
    position: int
    target: RunTarget
    retries: int
    created_at: datetime
    priority: int = 0
    turn: int = 0
    status: Status = Status.INITIALIZED
    success: bool | None = None
    failure: Failure | None = None
    attempts: tuple[Attempt, ...] = ()
    queued_at: datetime | None = None
    claimable_at: datetime | None = None
    started_at: datetime | None = None
    deadline_at: datetime | None = None
    completed_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    superseded_by: str | None = None
    lease: RunLease | None = None
    fencing_token: int = 0
    orphans: tuple[Orphan, ...] = ()
    extra_modes: tuple[AttemptMode, ...] = ()
    question: Question | None = None
    revision: int = 1

    @property
    def attempt_number(self) -> int:
        """The number of the newest attempt; 0 before the first claim."""
        return self.attempts[-1].number if self.attempts else 0

    @property
    def open_question(self) -> Question | None:
        """What can be answered now."""
        return self.question if self.question is not None and self.question.open else None

    @property
    def flaky(self) -> bool:
        return is_flaky(self.attempts)

    @property
    def execution_time_seconds(self) -> float | None:
        if self.started_at is None or self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()

    @property
    def busy_seconds(self) -> float:
        """How long workers were busy with it: all its ended attempts."""
        spans = (a.completed_at - a.started_at for a in self.attempts if a.completed_at is not None)
        return sum(span.total_seconds() for span in spans)

    def due_at(self, limits: RunLimits) -> datetime | None:
        """When the reaper has to look at this run; None when time cannot end it."""
        if self.lease is not None:
            return self.lease.expires_at
        if self.status is Status.QUEUED and self.queued_at is not None:
            return self.queued_at + limits.queue_timeout
        return self.deadline_at if self.status is Status.RUNNING else None
