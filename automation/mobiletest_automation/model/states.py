"""The seven statuses of executions and runs, and the allowed transitions."""

from collections.abc import Mapping
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
