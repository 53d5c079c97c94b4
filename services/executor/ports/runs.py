"""Ports of workers and background jobs: runs of all organisations, attempts on devices, artifacts."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto
from typing import Protocol

from mobiletest_automation.model.devices import Platform, Session
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from services.chassis.byte_ranges import FilePart
from services.executor.model.executions import Execution
from services.executor.model.runs import Question, QuestionPrompt, Run, RunPlan
from services.executor.model.workers import Fleet

# Whether runs of an organisation, by its id, are wanted.
AcceptsOrg = Callable[[str], bool]


def accept_all(org_id: str) -> bool:
    """Runs of every organisation are wanted."""
    return True


@dataclass(frozen=True, slots=True)
class RunKey:
    """A run and its execution."""

    execution_id: str
    run_id: str


@dataclass(frozen=True, slots=True)
class ReleasedRun:
    """A run that has just become claimable, or will after a pause."""

    key: RunKey
    org_id: str
    platform: Platform


class ReleasedRuns(Protocol):
    """Runs of all organisations as they are released."""

    def watch(self) -> AbstractAsyncContextManager[AsyncIterator[ReleasedRun]]:
        """Those that are released inside the block.

        Raises:
            TransientError: they cannot be seen.
        """


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that this worker now owns; its writes carry the token `run.fencing_token`."""

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
        """How much of the run's time limit was left when this attempt started."""
        last, deadline = self.run.attempts[-1], self.run.deadline_at
        return (deadline - last.started_at).total_seconds() if deadline else float("inf")

    @property
    def attempt_seconds(self) -> float:
        """How long this attempt may take: what is left of the run's time limit, or the test's own timeout."""
        return min(self.seconds_left, self.plan.timeout_seconds or float("inf"))


class Secrets(Protocol):
    """The secrets of all organisations."""

    async def secret_values(self, org_id: str, names: Collection[str]) -> Mapping[str, str]:
        """The values of those secrets of an organisation that exist, by name."""


class StopReason(Enum):
    """Why work on a run ends before it has a result."""

    # Cancellation was requested: write the run as cancelled.
    CANCEL = auto()
    # The run no longer belongs to this worker: write nothing.
    LOST = auto()
    # This worker shuts down: hand the run back.
    DRAIN = auto()


@dataclass(frozen=True, slots=True)
class Backlog:
    """`oldest_seconds`: how long the oldest claimable run has waited; `stuck`: how many runs are long overdue."""

    oldest_seconds: float
    stuck: int


@dataclass(frozen=True, slots=True)
class OrphanedSession:
    """A driver session that a lost worker may have left open, first noticed `seconds` ago."""

    key: RunKey
    session: Session
    seconds: float


class OrphanedSessions(Protocol):
    """Sessions that lost workers may have left open at their hubs."""

    async def orphans(self, limit: int) -> list[OrphanedSession]:
        """Up to `limit` runs' orphaned sessions, in no order."""

    async def forget_orphan(self, key: RunKey, session: Session) -> None:
        """Remove the session from the run's orphans; does nothing if it is not among them."""


class OverdueRuns(Protocol):
    """Runs whose lease or time limit has passed."""

    async def due(self, limit: int) -> list[RunKey]:
        """Runs whose lease has expired or whose time limit is over."""

    async def expire(self, key: RunKey, fleet: Fleet | None = None) -> None:
        """Release or end a run that is due; does nothing if it is no longer due. `fleet`: see lifecycle.expire."""

    async def backlog(self) -> Backlog:
        """How long the queue is."""


class Runs(OrphanedSessions, OverdueRuns, Protocol):
    """Runs, for workers. A worker's writes carry its fencing token.

    Raises:
        Fenced: by every write with a token, when the worker no longer owns the run.
    """

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        """Take the run; None when it cannot be claimed."""

    async def claimable(self, platform: Platform, limit: int, accepts: AcceptsOrg = accept_all) -> list[RunKey]:
        """Runs that can be claimed now, in the order of `model.claim_order`; empty only when there are none."""

    async def is_any_waiting(self) -> bool:
        """Whether any run of any platform waits for a worker, including runs that can be claimed only later."""

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        """Close the attempt and return the updated run.

        Raises:
            Fenced: the run belongs to another worker, or has ended.
        """

    async def hand_back(self, key: RunKey, token: int) -> Run:
        """Release the run for another worker at once.

        Raises:
            Fenced: the run belongs to another worker, or has ended.
        """

    async def note_session(self, key: RunKey, token: int, session: Session) -> None:
        """Record the session in the run's lease.

        Raises:
            Fenced: the run belongs to another worker, or has ended.
        """

    async def ask(self, key: RunKey, token: int, prompt: QuestionPrompt, patience: timedelta) -> Question | None:
        """Ask a person for at most `patience`; None when the run is being cancelled.

        Raises:
            Fenced: the run belongs to another worker, or has ended.
        """

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        """The answer to the question, if there is one yet.

        Raises:
            Fenced: the run belongs to another worker, or has ended.
        """

    async def withdraw(self, key: RunKey, token: int, question_id: str) -> str | None:
        """Close the question; returns an answer that arrived before.

        Raises:
            Fenced: the run belongs to another worker, or has ended.
        """

    async def renew(self, tokens: Mapping[str, int]) -> None:
        """Renew the leases of the runs (id -> token) that still have these tokens."""

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        """Which held runs (id -> token) were cancelled or lost; the others are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAttempt:
    """An attempt under way, so far. `device` and `simulated` are None before it has a device."""

    key: RunKey
    org_id: str
    token: int
    number: int
    device: str | None
    simulated: bool | None
    steps: tuple[StepResult, ...]
    artifacts: tuple[Artifact, ...]


class LiveAttempts(Protocol):
    """What attempts under way have reached."""

    async def write(self, attempts: Sequence[LiveAttempt]) -> None:
        """Show this of the attempts. Does nothing for one that has ended, or whose run has another token by now.

        Raises:
            Exception: it cannot be stored, or not now.
        """


# Called after each step with all steps and artifacts so far.
Progress = Callable[[Sequence[StepResult], Sequence[Artifact]], Awaitable[None]]


class Attempts(Protocol):
    """Carries out attempts on devices."""

    @property
    def platforms(self) -> Sequence[Platform]:
        """The platforms of the available devices."""

    def accepts(self, platform: Platform, org_id: str) -> bool:
        """Whether runs of the organisation may use the devices of the platform."""

    def places(self, platform: Platform) -> int:
        """How many attempts can have a device at once."""

    async def reserve(self, platform: Platform, runs: int) -> int:
        """Keep devices for this many runs in all that are held or about to be claimed; returns for how many there are.

        Devices may be shared with other workers, so only these runs find one at once. Storage errors are raised.
        """

    def settle(self, platform: Platform, runs: int) -> None:
        """This many runs of the platform are held: let devices go that were kept for more."""

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        """One attempt. Never raises because of a test, an app or a device; releases the device when cancelled."""


class RunArtifacts(Protocol):
    """Screenshots and other files that attempts keep."""

    async def put(self, run_id: str, attempt: int, name: str, content: bytes) -> None:
        """Store the file.

        Raises:
            Unavailable: the store is not available.
        """

    def read(self, run_id: str, attempt: int, name: str, part: FilePart | None = None) -> AsyncIterator[bytes]:
        """The file, or a part of it, in chunks.

        Raises:
            NotFound: it does not exist.
            Unavailable: the store is not available.
        """


class StoredArtifacts(RunArtifacts, Protocol):
    """Artifacts in an object store that others can read too."""

    def object_key(self, run_id: str, attempt: int, name: str) -> str:
        """The key of the file in the store."""


@dataclass(frozen=True, slots=True)
class CountedEvidence:
    """The organisations that have more evidence than before, and whether all runs have been counted."""

    org_ids: frozenset[str] = frozenset()
    complete: bool = True


class RetainedRuns(Protocol):
    """Ended runs whose artifacts are still kept, and the bytes of these by organisation, as far as they are counted."""

    async def now(self) -> datetime:
        """The clock that the runs' end times refer to."""

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        """Ids of runs that ended before then, oldest first."""

    async def expire(self, run_ids: Sequence[str]) -> None:
        """Mark their artifacts as deleted, and subtract them."""

    async def count(self) -> CountedEvidence:
        """Add some of the runs that have ended since the last call, in the order of their ends."""

    async def organisations(self) -> Sequence[str]:
        """Those that may have evidence."""

    async def used_bytes(self, org_id: str) -> int:
        """The bytes of the organisation's evidence."""

    async def oldest(self, org_id: str, excess: int, limit: int) -> list[str]:
        """Ids of the counted runs that ended first, as many as have together so many bytes, at most `limit`."""

    async def forget(self, org_id: str) -> None:
        """Nothing is counted for the organisation: it has no such run."""

    async def forget_days_before(self, day: date) -> None:
        """Nothing is counted for runs that ended before that day: there are none."""


class CountedRuns(Protocol):
    """How many runs organisations have stored."""

    async def recount_if_due(self) -> int | None:
        """Count them again, once when it is due: how many organisations had another number. None: it is not due."""


class ArtifactFiles(Protocol):
    """The object store that holds artifacts."""

    async def delete_all(self, prefix: str) -> int: ...
