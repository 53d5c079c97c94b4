"""What the use-cases and the worker need of the world around them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Protocol

from services.chassis.events import Event
from services.executor.model.attempts import Artifact, AttemptResult, StepResult
from services.executor.model.attribution import ExecutionSource
from services.executor.model.changes import Change
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind
from services.executor.model.plans import ResolvedRuns, RunPlan
from services.executor.model.questions import Question, QuestionPrompt
from services.executor.model.runs import Platform, Run, RunTarget, Session
from services.executor.model.states import Status


@dataclass(frozen=True, slots=True)
class RunKey:
    """A run, and the execution that it is of."""

    execution_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this worker now owns; the token of its writes is `run.fencing_token`."""

    execution: Execution
    run: Run
    plan: RunPlan

    @property
    def key(self) -> RunKey:
        return RunKey(self.run.execution_id, self.run.id)

    @property
    def attempt(self) -> int:
        return self.run.attempt_number

    @property
    def seconds_left(self) -> float:
        """How much of the run's time limit was left when this attempt began."""
        last, deadline = self.run.attempts[-1], self.run.deadline_at
        return (deadline - last.started_at).total_seconds() if deadline else float("inf")


class Notice(Enum):
    """What a worker has to know about a run that it holds."""

    CANCEL = auto()
    """Somebody asked for its end."""
    LOST = auto()
    """It is not this worker's any more."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """`oldest_seconds`: how long the oldest claimable run has waited; `stuck`: runs that are long overdue."""

    oldest_seconds: float
    stuck: int


@dataclass(frozen=True, slots=True)
class OrphanedSession:
    """A session that a worker may have left behind, and for how many seconds that has been known."""

    key: RunKey
    session: Session
    seconds: float


class Runs(Protocol):
    """Runs of all organisations, for workers and the reaper. Every write of a worker shows its token."""

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        """Take the run; None when it is not to be had."""

    async def claimable(self, platform: Platform, limit: int) -> list[RunKey]:
        """Runs that may be claimed now, in the order of `model.fairness`; none only when there are none."""

    async def still_claimable(self, keys: Sequence[RunKey]) -> list[RunKey]:
        """Those of the runs that look as if they could be claimed."""

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        """Close the attempt; the run as it stands then. Fenced when the run is somebody else's."""

    async def hand_back(self, key: RunKey, token: int) -> Run:
        """Let go of the run, for another worker at once. Fenced when the run is somebody else's."""

    async def note_session(self, key: RunKey, token: int, session: Session) -> None:
        """Put the session into the run's lease. Fenced when the run is somebody else's."""

    async def orphans(self, limit: int) -> list[OrphanedSession]:
        """Sessions that were left behind, in no order."""

    async def forget_orphan(self, key: RunKey, session: Session) -> None:
        """The session needs no care any more; nothing if it is not among the run's orphans."""

    async def ask(self, key: RunKey, token: int, asked: QuestionPrompt, patience: timedelta) -> Question | None:
        """Ask a person, until the time limits are over; None when the run is to end. Fenced as `finish` is."""

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        """What was answered, if anything has been. Fenced when the run is somebody else's."""

    async def withdraw(self, key: RunKey, token: int, question_id: str) -> str | None:
        """Ask no longer; the answer, if one has come before. Fenced when the run is somebody else's."""

    async def renew(self, tokens: Mapping[str, int]) -> None:
        """Renew the leases of the runs (id -> token) that are still held with these tokens."""

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, Notice]:
        """What there is to know about held runs (id -> token); those without news are left out."""

    async def due(self, limit: int) -> list[RunKey]:
        """Runs that time has something to say about."""

    async def backlog(self) -> Backlog:
        """How the queue stands."""

    async def expire(self, key: RunKey) -> None:
        """Let time do to the run what it has to; nothing if that has changed meanwhile."""


Progress = Callable[[Sequence[StepResult], Sequence[Artifact]], Awaitable[None]]
"""Told after each step all the steps, and what was kept, so far."""


class Attempts(Protocol):
    """Carries out attempts on devices."""

    @property
    def platforms(self) -> Sequence[Platform]:
        """Those that there are devices of."""

    def places(self, platform: Platform) -> int:
        """How many attempts can have a device at once."""

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        """One attempt. Never raises for what a test, an app or a device does; cancelled, it lets the device go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Which executions a list shows; None means all."""

    status: Status | None = None
    workflow_id: str | None = None
    app_id: str | None = None
    source: ExecutionSource | None = None
    branch: str | None = None
    commit_sha: str | None = None
    pr_number: int | None = None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page, counted from 1, and how much is on it."""

    number: int
    size: int


class Executions(Protocol):
    """The executions of the caller's organisation; others are NotFound, like unknown ones."""

    async def now(self) -> datetime:
        """The clock by which all times of executions are judged."""

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        """Store a new execution with its runs and their plans (by run id); what is there already when its id is."""

    async def expected_seconds(self, targets: Sequence[RunTarget]) -> list[float | None]:
        """How long runs of these are expected to keep a worker busy, by earlier ones; None where there were none."""

    async def plans_of(self, execution_id: str) -> dict[str, RunPlan]:
        """The plans of an execution's runs, by run id."""

    async def supersede(self, execution: Execution) -> None:
        """Cancel, for the newest execution of its lane that wants it, every earlier one that has not ended.

        The execution, stored with `cancel_previous`, may be cancelled itself. May be repeated.
        """

    async def cancel(self, execution_id: str) -> Execution:
        """Ask for its end. FailedPrecondition when it has ended."""

    async def get(self, execution_id: str) -> Execution: ...

    async def batch(self, execution_ids: Sequence[str]) -> list[Execution]:
        """Those that exist, in the order of the ids."""

    async def page(self, wanted: ExecutionFilter, page: PageRequest) -> tuple[list[Execution], int]:
        """A page, newest first, and how many fit in all."""

    async def runs(self, execution_id: str, page: PageRequest) -> tuple[list[Run], int]:
        """A page of an execution's runs in their order, and how many it has; without steps."""

    async def all_runs(self, execution_id: str) -> list[Run]:
        """All runs of an execution in their order, with steps."""

    async def run(self, execution_id: str, run_id: str) -> Run:
        """One run with its steps."""

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> Run:
        """Answer what a run asks; the run as it stands then, with steps. FailedPrecondition when it does not ask."""

    async def log(self, execution_id: str, after: int, limit: int) -> list[Event]:
        """The facts about an execution with a higher number than `after`, in order."""


class Supersessions(Protocol):
    """Executions of all organisations that may not have cancelled yet those whose place they take."""

    async def pending(self, limit: int) -> list[Execution]:
        """Some of them, the oldest first, but for those that were started only just now."""

    async def supersede(self, execution: Execution) -> None:
        """As `Executions.supersede`."""


class Catalog(Protocol):
    """What is to be run, and the files of builds."""

    async def resolve(
        self, kind: ExecutionKind, subject_id: str, build_config: BuildConfig, *, override_build_config: bool
    ) -> ResolvedRuns:
        """Which runs a start means. NotFound, InvalidArgument, Unavailable, DeadlineExceeded."""

    async def artifact(self, org_id: str, build_id: str, limit: int) -> bytes:
        """The first `limit` bytes of a build's file."""

    def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        """A build's whole file, in chunks."""


class ChangeSubscription(Protocol):
    """Rings when an execution changes; it may ring for nothing."""

    async def wait(self, seconds: float) -> None:
        """Return when it rang since the last wait, at the latest after `seconds`."""


class ChangeNotifications(Protocol):
    """Where one waits for an execution to change."""

    def of(self, execution_id: str) -> AbstractContextManager[ChangeSubscription]:
        """A bell that counts from the entry of the block, so that what is read inside is never behind it."""


class Artifacts(Protocol):
    """What attempts keep: screenshots and the like."""

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        """Unavailable when the store is."""

    def read(self, run_id: str, attempt: int, name: str) -> AsyncIterator[bytes]:
        """In chunks; NotFound, Unavailable."""


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Some runs, each with its execution, by id; `total` is how many runs there are, about."""

    runs: Sequence[tuple[Execution, Run]]
    total: int


@dataclass(frozen=True, slots=True)
class ExecutionsPage:
    """Some executions, by id; `total` is how many there are, about."""

    executions: Sequence[Execution]
    total: int


class Facts(Protocol):
    """The history of all organisations. Whatever was told before a page was asked for is in it."""

    async def runs(self, after: str, limit: int) -> RunsPage:
        """At most `limit` runs with ids after this one."""

    async def executions(self, after: str, limit: int) -> ExecutionsPage:
        """At most `limit` executions with ids after this one."""
