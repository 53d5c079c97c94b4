"""The caller and the deadline of the current request, in context variables."""

from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

V = TypeVar("V")

ALL_SCOPES: frozenset[str] = frozenset({"read", "write", "execute", "admin"})


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller of one request. `org_id` is empty only in methods that say so (`no_organisation`).

    `subject` is the id of the API key, `subject_name` its name.
    """

    org_id: str
    subject: str | None = None
    scopes: frozenset[str] = frozenset()
    request_id: str = ""
    traceparent: str | None = None
    idempotency_key: str | None = None
    via_gateway: bool = False
    subject_name: str | None = None


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def current() -> Caller:
    """The caller of the current request.

    Raises:
        LookupError: outside of a request.
    """
    caller = _caller.get()
    if caller is None:
        raise LookupError("there is no current request")
    return caller


def current_or_none() -> Caller | None:
    """The caller of the current request, or None outside a request."""
    return _caller.get()


class _Scope(AbstractContextManager[V]):
    """Sets a context variable inside a block; costs a third of a generator, several times per request."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: V) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> V:
        self._token: Token[Any] = self._variable.set(self._value)
        return self._value

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


def bind(caller: Caller) -> AbstractContextManager[Caller]:
    """Make `caller` the current one inside the block and in tasks that are started there."""
    return _Scope(_caller, caller)


_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def time_remaining() -> float | None:
    """Seconds until the deadline of the current request; None without a deadline."""
    deadline = _deadline.get()
    return None if deadline is None else deadline - monotonic()


def limit_time(seconds: float | None) -> AbstractContextManager[float | None]:
    """Limit outgoing calls inside the block to this time; None removes the limit."""
    return _Scope(_deadline, None if seconds is None else monotonic() + seconds)
