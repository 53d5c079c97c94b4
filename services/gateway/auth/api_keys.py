"""API keys and session tokens: their format, their holders, and the errors of those that are not valid.

A key is `mt_<12>_<32><6>`, base62, and a session token `ms_` with the same parts. The last six are the CRC32 of what
precedes them, so a typo or a guess is rejected here, without a call to the catalog.
"""

import re
import string
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Protocol

import grpc
from mobiletest.catalog.v1 import api_keys_pb2, api_keys_pb2_grpc, sessions_pb2, sessions_pb2_grpc

from services.chassis import error_status
from services.chassis.errors import Unauthenticated
from services.chassis.grpc_channel import Channel
from services.chassis.proto_values import enum_spellings
from services.gateway.auth.rate_limits import UNLIMITED, RequestLimits

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
CHECKSUM_LENGTH = 6
KEY_PREFIX, SESSION_PREFIX = "mt_", "ms_"
_FORMAT = re.compile(r"m[ts]_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", re.ASCII)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """What a valid key stands for. `expires_at` is None for a key that does not expire; `limits` are of its owner.

    `session_id` is empty unless somebody has signed in with the key, whose `name` it is.
    """

    key_id: str
    org_id: str
    scopes: frozenset[str]
    expires_at: datetime | None = None
    limits: RequestLimits = UNLIMITED
    session_id: str = ""
    name: str = ""

    @property
    def revocable_ids(self) -> tuple[str, ...]:
        """What ends with the key, or with the session."""
        return (self.key_id, self.session_id) if self.session_id else (self.key_id,)


class ApiKeys(Protocol):
    """Verifies API keys and session tokens; the catalog does."""

    async def verify(self, key: str) -> KeyHolder:
        """The holder.

        Raises:
            Unauthenticated: there is none (INVALID_API_KEY, API_KEY_EXPIRED or INVALID_SESSION).
        """


def missing_authorization() -> Unauthenticated:
    return Unauthenticated("Authorization header missing", reason="AUTHORIZATION_MISSING")


def invalid_api_key() -> Unauthenticated:
    return Unauthenticated("Invalid API key", reason="INVALID_API_KEY")


def expired_api_key() -> Unauthenticated:
    return Unauthenticated("API key expired", reason="API_KEY_EXPIRED")


def ended_session() -> Unauthenticated:
    return Unauthenticated("The session has ended; sign in again", reason="INVALID_SESSION")


KEY_ERRORS = {make().reason: make for make in (invalid_api_key, expired_api_key, ended_session)}


class CatalogApiKeys:
    """Verifies keys over gRPC."""

    def __init__(self, channel: Channel, default_limits: RequestLimits) -> None:
        self._default_limits = default_limits
        self._keys = api_keys_pb2_grpc.ApiKeysStub(channel)  # type: ignore[no-untyped-call]
        self._sessions = sessions_pb2_grpc.SessionsStub(channel)  # type: ignore[no-untyped-call]
        self._scopes = enum_spellings(api_keys_pb2.Scope.DESCRIPTOR)

    async def verify(self, key: str) -> KeyHolder:
        """See `ApiKeys.verify`. A rejected service token is not the client's fault and stays an AioRpcError."""
        try:
            if key.startswith(SESSION_PREFIX):
                request = sessions_pb2.VerifySessionRequest(token=key)
                return self._holder(await self._sessions.VerifySession(request))
            return self._holder(await self._keys.VerifyApiKey(api_keys_pb2.VerifyApiKeyRequest(key=key)))
        except grpc.aio.AioRpcError as error:
            raise _key_error(error) or error from None

    def _holder(self, answer: api_keys_pb2.VerifyApiKeyResponse | sessions_pb2.Session) -> KeyHolder:
        expires = answer.expires_at.ToDatetime(UTC) if answer.HasField("expires_at") else None
        scopes = frozenset(self._scopes[scope] for scope in answer.scopes if scope in self._scopes)
        limits = self._default_limits.with_overrides(answer.limits)
        if isinstance(answer, sessions_pb2.Session):
            session_id, name = answer.id, answer.api_key_name
        else:
            session_id, name = "", answer.name
        return KeyHolder(answer.api_key_id, answer.org_id, scopes, expires, limits, session_id, name)


def _key_error(error: grpc.aio.AioRpcError) -> Unauthenticated | None:
    known = error_status.to_domain_error(error)
    if isinstance(known, Unauthenticated) and known.reason in KEY_ERRORS:
        return KEY_ERRORS[known.reason]()
    return None


def is_well_formed(key: str) -> bool:
    """Whether the text has the format of a key or a session token, and the right checksum."""
    return _FORMAT.fullmatch(key) is not None and checksum(key[:-CHECKSUM_LENGTH]) == key[-CHECKSUM_LENGTH:]


def checksum(text: str) -> str:
    """The CRC32 of an ASCII text in base62, six characters with leading zeros."""
    number = zlib.crc32(text.encode("ascii"))
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def fingerprint(key: str) -> bytes:
    """Identifies a key in the cache; the key itself is not stored."""
    return sha256(key.encode(errors="surrogateescape")).digest()
