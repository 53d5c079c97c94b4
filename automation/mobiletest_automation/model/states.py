"""The seven statuses of executions and runs, the allowed transitions, and how many runs ended how."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Status(StrEnum):
    """The life cycle; whether the test passed is a separate field, `success`."""

    INITIALIZING = "initializing"
    INITIALIZED = "initialized"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        return not NEXT[self]


class IllegalTransition(Exception):
    """A transition that is not allowed."""


_NO_VERDICT = frozenset({Status.FAILED, Status.CANCELLED})

NEXT: Mapping[Status, frozenset[Status]] = {
    Status.INITIALIZING: _NO_VERDICT | {Status.INITIALIZED},
    Status.INITIALIZED: _NO_VERDICT | {Status.QUEUED},
    Status.QUEUED: _NO_VERDICT | {Status.RUNNING},
    Status.RUNNING: _NO_VERDICT | {Status.COMPLETED},
    Status.COMPLETED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}


def advance(now: Status, then: Status) -> Status:
    """Returns `then` if it may follow `now`.

    Raises:
        IllegalTransition: it may not follow.
    """
    if then not in NEXT[now]:
        raise IllegalTransition(f"{now} cannot become {then}")
    return then


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many runs an execution has, by state; the last six add up to `total`."""

    total: int = 0
    queued: int = 0
    running: int = 0
    passed: int = 0
    failed: int = 0
    cancelled: int = 0
    infra_failed: int = 0

    @property
    def open(self) -> int:
        return self.queued + self.running

    def moved(self, before: str, after: str) -> "RunCounts":
        """The counts after one run moved from one bucket to another."""
        if before == after:
            return self
        return replace(self, **{before: getattr(self, before) - 1, after: getattr(self, after) + 1})

    def added(self, bucket: str) -> "RunCounts":
        """The counts with one more run."""
        return replace(self, total=self.total + 1, **{bucket: getattr(self, bucket) + 1})


def bucket(status: Status, success: bool | None) -> str:
    """The name of the count that a run belongs to."""
    match status:
        case Status.RUNNING:
            return "running"
        case Status.COMPLETED:
            return "passed" if success else "failed"
        case Status.FAILED:
            return "infra_failed"
        case Status.CANCELLED:
            return "cancelled"
        case _:
            return "queued"


def outcome(counts: RunCounts, *, cancel_requested: bool) -> tuple[Status, bool | None]:
    """The status and success of an execution whose runs have all ended."""
    if cancel_requested and counts.cancelled:
        return Status.CANCELLED, None
    if counts.failed:
        return Status.COMPLETED, False
    if counts.infra_failed or not counts.total:
        return Status.FAILED, None
    if counts.cancelled:
        return Status.CANCELLED, None
    return Status.COMPLETED, True
