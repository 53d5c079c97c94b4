"""Authenticates gRPC calls by the token of the calling service, and checks what that service, and the API key on whose
behalf it calls, may do.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from urllib.parse import unquote
from uuid import uuid4

from services.chassis.context import ALL_SCOPES, Caller
from services.chassis.errors import InvalidArgument, PermissionDenied, Unauthenticated, Violation
from services.chassis.ids import ID_RULE, is_id
from services.chassis.method_options import Method

SERVICE_TOKEN_INVALID = "SERVICE_TOKEN_INVALID"  # noqa: S105 (an error reason)
CALLER_NOT_ALLOWED = "CALLER_NOT_ALLOWED"
GATEWAY, OPERATOR = "gateway", "operator"


@dataclass(frozen=True, slots=True)
class Grant:
    """What the owner of a token may do: in whose name it calls, and what an operator's token is restricted to."""

    names: frozenset[str]
    # The only organisation that it may call for; empty: all.
    org_id: str = ""
    scopes: frozenset[str] = ALL_SCOPES

    @property
    def is_restricted(self) -> bool:
        return bool(self.org_id) or self.scopes != ALL_SCOPES


# By the SHA-256 of the token (hexadecimal).
Callers = Mapping[str, Grant]

_CALLER = re.compile(r"(?P<name>[a-z][a-z-]*)=(?P<digest>[0-9a-f]{64})(?P<restrictions>(:[^:]*)*)")


def parse_callers(text: str) -> Callers:
    """Read "gateway=<SHA-256>,operator=<SHA-256>:org=<id>:scopes=read+execute"; a name may have several tokens, for
    rotation.

    Raises:
        ValueError: it is malformed.
    """
    callers: dict[str, Grant] = {}
    for entry in re.split(r"[,\s]+", text.strip(", \t\n"), flags=re.ASCII) if text.strip() else ():
        match = _CALLER.fullmatch(entry)
        if match is None:
            name = entry.partition("=")[0][:40]
            raise ValueError(f'the entry "{name}" is not NAME=SHA256, with the hexadecimal SHA-256 of its token')
        grant = _parse_restrictions(match["name"], match["restrictions"])
        other = callers.get(match["digest"], replace(grant, names=frozenset()))
        if replace(other, names=grant.names) != grant:
            raise ValueError(
                f'a token of "{match["name"]}" is listed twice with different restrictions: make two tokens'
            )
        callers[match["digest"]] = replace(grant, names=grant.names | other.names)
    return callers


def _parse_restrictions(name: str, text: str) -> Grant:
    """What follows the digest: ":org=<id>", ":scopes=read+execute", both or nothing. ValueError."""
    grant = Grant(frozenset({name}))
    if text and name != OPERATOR:
        raise ValueError(f'a token of "{name}" cannot be restricted, only those of "{OPERATOR}"')
    for restriction in text.split(":")[1:]:
        key, _, value = restriction.partition("=")
        if key == "org" and is_id(value):
            grant = replace(grant, org_id=value)
        elif key == "scopes" and (scopes := frozenset(value.split("+"))) <= ALL_SCOPES:
            grant = replace(grant, scopes=scopes)
        else:
            raise ValueError(
                f'a token of "{name}" has a restriction that is not org=ID, where ID is {ID_RULE}, or scopes= with '
                f"some of {'+'.join(sorted(ALL_SCOPES))}"
            )
    return grant


def token_digest(token: str) -> str:
    """What a called service knows of a token: tokens are random, so nobody finds one by its digest."""
    return sha256(token.encode()).hexdigest()


def read_metadata(metadata: Iterable[tuple[str, str | bytes]] | None) -> dict[str, str]:
    """The text metadata of a call; the last value of a repeated key."""
    return {key: value for key, value in metadata or () if isinstance(value, str)}


def authorize(method: Method, metadata: Mapping[str, str], callers: Callers) -> Caller:
    """The caller.

    Raises:
        Unauthenticated: without the token of one of `callers`.
        PermissionDenied: this service may not call the method, for another organisation than that of a restricted
            token, or without the scope that the method needs.
        InvalidArgument: for an organisation id that consumers of events would refuse.
    """
    grant = _grant(metadata.get("authorization", ""), callers)
    if grant.names.isdisjoint(method.callers):
        names = " or ".join(sorted(grant.names))
        raise PermissionDenied(f"{names} may not call {method.path}", reason=CALLER_NOT_ALLOWED)
    if grant.is_restricted and not method.required_scope:
        message = f"A restricted {OPERATOR}'s token calls only methods that need a scope, not {method.path}"
        raise PermissionDenied(message, reason=CALLER_NOT_ALLOWED)
    caller = _read_caller(metadata, grant)
    if method.needs_organisation and not caller.org_id:
        raise Unauthenticated("The metadata has no x-org-id", reason="ORGANISATION_MISSING")
    if caller.org_id and not is_id(caller.org_id):
        violation = Violation("x-org-id", f"must be {ID_RULE}", "string.pattern")
        raise InvalidArgument(f"x-org-id must be {ID_RULE}", reason="ORGANISATION_INVALID", violations=[violation])
    if grant.org_id and caller.org_id != grant.org_id:
        message = f"This service token is for the organisation {grant.org_id}, not for {caller.org_id}"
        raise PermissionDenied(message, reason="ORGANISATION_NOT_ALLOWED")
    _check_scope(method.required_scope, caller, grant)
    return caller


def _check_scope(scope: str, caller: Caller, grant: Grant) -> None:
    if not scope or scope in caller.scopes:
        return
    if scope not in grant.scopes:
        lacking = f"This service token is restricted to {', '.join(sorted(grant.scopes))}, and lacks"
    else:
        lacking = "This API key lacks" if caller.via_gateway else "The metadata x-scopes lacks"
    raise PermissionDenied(f"{lacking} the scope {scope}", reason="SCOPE_MISSING", metadata={"scope": scope})


def _grant(authorization: str, callers: Callers) -> Grant:
    kind, _, given = authorization.partition(" ")
    grant = callers.get(token_digest(given.strip()))
    if kind.lower() != "bearer" or grant is None:
        raise Unauthenticated("The service token is missing or wrong", reason=SERVICE_TOKEN_INVALID)
    return grant


# Characters of the name of an API key.
NAME_LIMIT = 200


def _read_caller(metadata: Mapping[str, str], grant: Grant) -> Caller:
    """A restricted token stands for what the metadata leaves out."""
    scopes = metadata.get("x-scopes", ",".join(grant.scopes) if grant.is_restricted else "")
    return Caller(
        org_id=metadata.get("x-org-id") or grant.org_id,
        subject=metadata.get("x-subject"),
        subject_name=unquote(metadata.get("x-subject-name", ""))[:NAME_LIMIT] or None,
        scopes=frozenset(s.strip() for s in scopes.split(",") if s.strip()) & grant.scopes,
        request_id=metadata.get("x-request-id") or str(uuid4()),
        traceparent=metadata.get("traceparent"),
        idempotency_key=metadata.get("idempotency-key"),
        via_gateway=GATEWAY in grant.names,
    )
