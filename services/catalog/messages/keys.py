"""API keys as messages."""

from collections.abc import Iterable

from mobiletest.catalog.v1 import api_keys_pb2

from services.catalog.messages.values import timestamp
from services.catalog.model.keys import ApiKey, Scope

_NUMBERS = {
    Scope.READ: api_keys_pb2.SCOPE_READ,
    Scope.WRITE: api_keys_pb2.SCOPE_WRITE,
    Scope.EXECUTE: api_keys_pb2.SCOPE_EXECUTE,
    Scope.ADMIN: api_keys_pb2.SCOPE_ADMIN,
}
_SCOPES = {number: scope for scope, number in _NUMBERS.items()}


def key_message(key: ApiKey, value: str | None = None) -> api_keys_pb2.ApiKey:
    """The key; with its value only in the answer that creates it."""
    return api_keys_pb2.ApiKey(
        id=key.id,
        name=key.name,
        prefix=key.prefix,
        scopes=[_NUMBERS[scope] for scope in key.scopes],
        expires_at=timestamp(key.expires_at),
        created_at=timestamp(key.created_at),
        last_used_at=timestamp(key.last_used_at),
        key=value,
    )


def verified_message(key: ApiKey) -> api_keys_pb2.VerifyApiKeyResponse:
    """Whose key it is."""
    return api_keys_pb2.VerifyApiKeyResponse(
        api_key_id=key.id,
        org_id=key.org_id,
        scopes=[_NUMBERS[scope] for scope in key.scopes],
        expires_at=timestamp(key.expires_at),
    )


def scopes(numbers: Iterable[int]) -> list[Scope]:
    """The scopes of the numbers, in the order of their declaration."""
    asked = set(numbers)
    return [scope for number, scope in _SCOPES.items() if number in asked]
