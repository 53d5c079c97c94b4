"""Tokens of tests, and the services that they stand for."""

from services.chassis.service_token import token_digest

ALL = ("executor-api", "executor-worker", "gateway", "operator", "reporting")


def callers(token: str, *names: str) -> str:
    """MOBILETEST_CALLERS for services that are called with this token in these names."""
    return ",".join(f"{name}={token_digest(token)}" for name in names)
