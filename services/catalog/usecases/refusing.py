"""Turns what the rules of the domain refuse into the error that callers know."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from services.catalog.model.refusals import Refused
from services.chassis.errors import InvalidArgument, Violation

P = ParamSpec("P")
T = TypeVar("T")


def refusing(behaviour: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """The behaviour, with Refused turned into InvalidArgument that names the field."""

    @wraps(behaviour)
    async def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await behaviour(*args, **kwargs)
        except Refused as refusal:
            raise invalid([refusal]) from refusal

    return guarded


def invalid(refusals: list[Refused]) -> InvalidArgument:
    """One error for at least one refusal."""
    violations = [Violation(r.field, r.message, r.kind) for r in refusals]
    return InvalidArgument(f"{refusals[0].field}: {refusals[0].message}", violations=violations)
