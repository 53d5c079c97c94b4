"""Tokens of tests, the services that they stand for, and the organisations that they may call for."""

from services.chassis.request_interceptor import KnownOrganisations
from services.chassis.service_token import token_digest

ALL = ("executor-api", "executor-worker", "gateway", "operator", "reporting")


def callers(token: str, *names: str) -> str:
    """MOBILETEST_CALLERS for services that are called with this token in these names."""
    return ",".join(f"{name}={token_digest(token)}" for name in names)


async def _find() -> None:
    pass


def any_organisation() -> KnownOrganisations:
    """For servers without organisations: each exists."""
    return KnownOrganisations(_find)
