"""Authenticates gRPC calls by the token of the calling service, and checks what that service, and the API key on whose
behalf it calls, may do.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from hashlib import sha256
from uuid import uuid4

from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument, PermissionDenied, Unauthenticated, Violation
from services.chassis.ids import ID_RULE, is_id
from services.chassis.method_options import Method

SERVICE_TOKEN_INVALID = "SERVICE_TOKEN_INVALID"  # noqa: S105 (an error reason)
CALLER_NOT_ALLOWED = "CALLER_NOT_ALLOWED"
GATEWAY = "gateway"

Callers = Mapping[str, frozenset[str]]
"""The names of the services that have a token, by the SHA-256 of the token (hexadecimal)."""

_CALLER = re.compile(r"([a-z][a-z-]*)=([0-9a-f]{64})")


def parse_callers(text: str) -> Callers:
    """Read "gateway=<SHA-256>,reporting=<SHA-256>"; a name may have several tokens, for rotation. ValueError."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for entry in re.split(r"[,\s]+", text.strip(", \t\n")) if text.strip() else ():
        match = _CALLER.fullmatch(entry)
        if match is None:
            name = entry.partition("=")[0][:40]
            raise ValueError(f'the entry "{name}" is not NAME=SHA256, with the hexadecimal SHA-256 of its token')
        found[match[2]].add(match[1])
    return {digest: frozenset(names) for digest, names in found.items()}


def token_digest(token: str) -> str:
    """What a called service knows of a token: tokens are random, so nobody finds one by its digest."""
    return sha256(token.encode()).hexdigest()


def read_metadata(metadata: Iterable[tuple[str, str | bytes]] | None) -> dict[str, str]:
    """The text metadata of a call; the last value of a repeated key."""
    return {key: value for key, value in metadata or () if isinstance(value, str)}


def authorize(method: Method, metadata: Mapping[str, str], callers: Callers) -> Caller:
    """The caller. Unauthenticated without the token of one of `callers`; PermissionDenied when this service may not
    call the method, or without the scope that the method needs; InvalidArgument for an organisation id that consumers
    of events would refuse.
    """
    names = _names(metadata.get("authorization", ""), callers)
    if names.isdisjoint(method.callers):
        raise PermissionDenied(f"{_either(names)} may not call {method.path}", reason=CALLER_NOT_ALLOWED)
    caller = _read_caller(metadata, via_gateway=GATEWAY in names)
    if method.needs_organisation and not caller.org_id:
        raise Unauthenticated("The metadata has no x-org-id", reason="ORGANISATION_MISSING")
    if caller.org_id and not is_id(caller.org_id):
        violation = Violation("x-org-id", f"must be {ID_RULE}", "string.pattern")
        raise InvalidArgument(f"x-org-id must be {ID_RULE}", reason="ORGANISATION_INVALID", violations=[violation])
    if method.required_scope and method.required_scope not in caller.scopes:
        raise PermissionDenied(
            f"This API key lacks the scope {method.required_scope}",
            reason="SCOPE_MISSING",
            metadata={"scope": method.required_scope},
        )
    return caller


def _names(authorization: str, callers: Callers) -> frozenset[str]:
    kind, _, given = authorization.partition(" ")
    names = callers.get(token_digest(given.strip()))
    if kind.lower() != "bearer" or not names:
        raise Unauthenticated("The service token is missing or wrong", reason=SERVICE_TOKEN_INVALID)
    return names


def _either(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _read_caller(metadata: Mapping[str, str], *, via_gateway: bool) -> Caller:
    return Caller(
        org_id=metadata.get("x-org-id", ""),
        subject=metadata.get("x-subject"),
        scopes=frozenset(s.strip() for s in metadata.get("x-scopes", "").split(",") if s.strip()),
        request_id=metadata.get("x-request-id") or str(uuid4()),
        traceparent=metadata.get("traceparent"),
        idempotency_key=metadata.get("idempotency-key"),
        via_gateway=via_gateway,
    )
