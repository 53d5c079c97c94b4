"""Authenticates gRPC calls by the service token, and checks the caller's organisation and scopes."""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from uuid import uuid4

from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.errors import PermissionDenied, Unauthenticated
from services.chassis.method_options import Method

SERVICE_TOKEN_INVALID = "SERVICE_TOKEN_INVALID"  # noqa: S105 (an error reason)


def read_metadata(metadata: Iterable[tuple[str, str | bytes]] | None) -> dict[str, str]:
    """The text metadata of a call; the last value of a repeated key."""
    return {key: value for key, value in metadata or () if isinstance(value, str)}


def authorize(method: Method, metadata: Mapping[str, str], tokens: Sequence[str]) -> Caller:
    """The caller. Unauthenticated without one of `tokens`, PermissionDenied without the scope that the method needs."""
    _check_token(metadata.get("authorization", ""), tokens)
    caller = _read_caller(metadata)
    if method.needs_organisation and not caller.org_id:
        raise Unauthenticated("The metadata has no x-org-id", reason="ORGANISATION_MISSING")
    if method.internal and caller.via_gateway:
        raise PermissionDenied("This method is for internal callers only", reason="INTERNAL_METHOD")
    if method.required_scope and method.required_scope not in caller.scopes:
        raise PermissionDenied(
            f"This API key lacks the scope {method.required_scope}",
            reason="SCOPE_MISSING",
            metadata={"scope": method.required_scope},
        )
    return caller


def _check_token(authorization: str, tokens: Sequence[str]) -> None:
    kind, _, given = authorization.partition(" ")
    matches = [hmac.compare_digest(given.strip().encode(), token.encode()) for token in tokens]
    if kind.lower() != "bearer" or not any(matches):
        raise Unauthenticated("The service token is missing or wrong", reason=SERVICE_TOKEN_INVALID)


def _read_caller(metadata: Mapping[str, str]) -> Caller:
    scopes = metadata.get("x-scopes")
    return Caller(
        org_id=metadata.get("x-org-id", ""),
        subject=metadata.get("x-subject"),
        scopes=ALL_SCOPES if scopes is None else frozenset(s.strip() for s in scopes.split(",") if s.strip()),
        request_id=metadata.get("x-request-id") or str(uuid4()),
        traceparent=metadata.get("traceparent"),
        idempotency_key=metadata.get("idempotency-key"),
        via_gateway=metadata.get("x-caller") == "gateway",
    )
