"""Errors that the use cases share: NOT_FOUND for unknown ids, INVALID_ARGUMENT for violations of the domain's rules."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from mobiletest_automation.flows.environment import NO_ENVIRONMENT, Environment, InvalidEnvironment, check_environment
from mobiletest_automation.web_addresses import AddressRefused, check_scheme
from services.catalog.model.values import InvalidValue
from services.chassis.errors import Aborted, InvalidArgument, NotFound, Violation

P = ParamSpec("P")
T = TypeVar("T")

REVISION_MISMATCH = "REVISION_MISMATCH"


class Revised(Protocol):
    """An entity whose revision rises with every change."""

    @property
    def revision(self) -> int: ...


R = TypeVar("R", bound=Revised)


def require(entity: T | None, name: str) -> T:
    """The entity.

    Raises:
        NotFound: it is unknown, deleted, or another organisation's: they look the same.
    """
    if entity is None:
        raise NotFound(f"{name} not found")
    return entity


def require_revision(entity: R | None, name: str, expected: Collection[int]) -> R:
    """The entity.

    Raises:
        NotFound: as in `require`.
        Aborted: unless its revision is one of those expected, none: any.
    """
    current_entity = require(entity, name)
    if expected and current_entity.revision not in expected:
        message = f"The {name.lower()} has been changed: read it again, and send the change with its new ETag"
        raise Aborted(message, reason=REVISION_MISMATCH, metadata={"revision": str(current_entity.revision)})
    return current_entity


def reports_violations(behaviour: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Decorate a use case: InvalidValue becomes an InvalidArgument that names the field."""

    @wraps(behaviour)
    async def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await behaviour(*args, **kwargs)
        except InvalidValue as refusal:
            raise invalid_argument([refusal]) from refusal

    return guarded


def invalid_argument(refusals: list[InvalidValue]) -> InvalidArgument:
    """One error for one or more violations."""
    violations = [Violation(r.field, r.message, r.kind) for r in refusals]
    return InvalidArgument(f"{refusals[0].field}: {refusals[0].message}", violations=violations)


def validate_environment(
    values: Mapping[str, object] | None, field: str, stored: Environment = NO_ENVIRONMENT
) -> Environment:
    """The variables, see `check_environment`.

    Raises:
        InvalidArgument: they cannot be used; it lists all violations.
    """
    try:
        return check_environment(values or {}, field, stored)
    except InvalidEnvironment as error:
        raise invalid_argument([InvalidValue(name, problem) for name, problem in error.problems]) from error


def validate_link(url: str, field: str) -> str:
    """The URL. Whether it can be opened is checked in a run.

    Raises:
        InvalidValue: for a scheme that must not become a link.
    """
    try:
        check_scheme(url)
    except AddressRefused as error:
        raise InvalidValue(field, str(error), "url_scheme") from error
    return url
