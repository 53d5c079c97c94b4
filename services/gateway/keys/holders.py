"""Who holds a key, and why a key is refused."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.chassis.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class Holder:
    """What a valid key stands for. `expires_at` is None for a key that does not expire."""

    key_id: str
    org_id: str
    scopes: frozenset[str]
    expires_at: datetime | None = None


class Keys(Protocol):
    """The catalog, as far as keys are concerned."""

    async def verify(self, key: str) -> Holder:
        """Whose key this is; Unauthenticated (INVALID_API_KEY or API_KEY_EXPIRED) when it is nobody's any more."""


def missing() -> Unauthenticated:
    return Unauthenticated("Authorization header missing", reason="AUTHORIZATION_MISSING")


def invalid() -> Unauthenticated:
    return Unauthenticated("Invalid API key", reason="INVALID_API_KEY")


def expired() -> Unauthenticated:
    return Unauthenticated("API key expired", reason="API_KEY_EXPIRED")
