"""The domain errors of all services.

    DomainError
    ├── InvalidArgument      the request is wrong in itself (carries violations)
    ├── Unauthenticated      the caller is unknown
    ├── PermissionDenied     the caller lacks a scope
    ├── NotFound             missing, or of another organisation: these look the same
    ├── AlreadyExists        a unique value exists already
    ├── FailedPrecondition   not possible in the current state
    ├── Aborted              lost a race; a retry may succeed
    ├── ResourceExhausted    a limit or quota is reached
    ├── DeadlineExceeded     the deadline has passed
    └── Unavailable          a dependency is down; retry after `retry_after` seconds

`error_status.py` maps them to gRPC and back; the gateway maps them to HTTP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: `field` is a dotted path ("test_ids[2]"), `type` the id of the rule."""

    field: str
    message: str
    type: str


class DomainError(Exception):
    """Base of the tree: a message for people and a reason (UPPER_SNAKE) for programs."""

    default_reason: ClassVar[str] = "UNKNOWN"

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        violations: Sequence[Violation] = (),
        retry_after: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """`retry_after` is in seconds; `metadata` is sent with the reason (google.rpc.ErrorInfo)."""
        super().__init__(message)
        self.message = message
        self.reason = reason or self.default_reason
        self.violations = tuple(violations)
        self.retry_after = retry_after
        self.metadata = dict(metadata or {})


class InvalidArgument(DomainError):
    default_reason = "INVALID_ARGUMENT"


class Unauthenticated(DomainError):
    default_reason = "UNAUTHENTICATED"


class PermissionDenied(DomainError):
    default_reason = "PERMISSION_DENIED"


class NotFound(DomainError):
    default_reason = "NOT_FOUND"


class AlreadyExists(DomainError):
    default_reason = "ALREADY_EXISTS"


class FailedPrecondition(DomainError):
    default_reason = "FAILED_PRECONDITION"


class Aborted(DomainError):
    default_reason = "ABORTED"


class ResourceExhausted(DomainError):
    default_reason = "RESOURCE_EXHAUSTED"


class DeadlineExceeded(DomainError):
    default_reason = "DEADLINE_EXCEEDED"


class Unavailable(DomainError):
    default_reason = "UNAVAILABLE"
