"""The caller and the deadline of the current request, in context variables."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

ALL_SCOPES: frozenset[str] = frozenset({"read", "write", "execute", "admin"})


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller of one request. `org_id` is empty only in methods that say so (`no_organisation`)."""

    org_id: str
    subject: str | None = None
    scopes: frozenset[str] = ALL_SCOPES
    request_id: str = ""
    traceparent: str | None = None
    idempotency_key: str | None = None
    via_gateway: bool = False


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def current() -> Caller:
    """The caller of the current request; LookupError outside a request."""
    caller = _caller.get()
    if caller is None:
        raise LookupError("there is no current request")
    return caller


def current_or_none() -> Caller | None:
    """The caller of the current request, or None outside a request."""
    return _caller.get()


@contextmanager
def bind(caller: Caller) -> Iterator[Caller]:
    """Make `caller` the current one inside the block and in tasks that are started there."""
    token = _caller.set(caller)
    try:
        yield caller
    finally:
        _caller.reset(token)


_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def time_remaining() -> float | None:
    """Seconds until the deadline of the current request; None without a deadline."""
    deadline = _deadline.get()
    return None if deadline is None else deadline - monotonic()


@contextmanager
def limit_time(seconds: float | None) -> Iterator[None]:
    """Limit outgoing calls inside the block to this time; None removes the limit."""
    token = _deadline.set(None if seconds is None else monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)
