"""What every request is asked before its endpoint sees it: who sends it, may they, and how shall it be treated."""

import asyncio
import re
from collections.abc import Sequence
from typing import Protocol

from aiohttp.web import BaseRequest

from services.chassis.context import Caller
from services.chassis.errors import PermissionDenied
from services.gateway.auth.api_keys import KeyHolder
from services.gateway.decoding import validation_errors
from services.gateway.decoding.validation_errors import InvalidRequest, Problem
from services.gateway.http.request_context import Endpoint, RequestContext

_ANYONE = KeyHolder("", "", frozenset())
_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_STRICT = re.compile(r"(?:^|[,;\s])handling\s*=\s*\"?strict\"?(?:$|[,;\s])", re.IGNORECASE)
_TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", re.ASCII)


class Holders(Protocol):
    """Finds the holder of a key."""

    async def holder(self, authorization: Sequence[str]) -> KeyHolder:
        """See `Authenticator.holder`."""


class Authentication:
    """Turns a request into an exchange; raises Unauthenticated, PermissionDenied or InvalidRequest."""

    def __init__(self, holders: Holders, max_seconds: float) -> None:
        self._holders = holders
        self._most_seconds = max_seconds

    async def admit(
        self, request: BaseRequest, endpoint: Endpoint, path: dict[str, str], headers: dict[str, str]
    ) -> RequestContext:
        """`headers` are those that every answer gets, X-Request-ID among them."""
        given = request.headers
        prefer, timeout = given.get("Prefer"), given.get("X-Request-Timeout")
        async with asyncio.timeout(_limit(timeout)):
            holder = await self._holder(request, endpoint)
        caller = Caller(
            org_id=holder.org_id,
            subject=holder.key_id,
            scopes=holder.scopes,
            request_id=headers["X-Request-ID"],
            traceparent=_trace(given.get("traceparent")),
            idempotency_key=_idempotency_key(given.get("Idempotency-Key")) if endpoint.takes_idempotency_key else None,
            via_gateway=True,
        )
        return RequestContext(
            http=request,
            path=path,
            caller=caller,
            headers=headers,
            seconds=self._seconds(timeout) if timeout is not None else None,
            strict=prefer is not None and _STRICT.search(prefer) is not None,
        )

    async def _holder(self, request: BaseRequest, endpoint: Endpoint) -> KeyHolder:
        if not endpoint.scope:
            return _ANYONE
        holder = await self._holders.holder(request.headers.getall("Authorization", ()))
        if endpoint.scope not in holder.scopes:
            raise PermissionDenied(
                f"This API key lacks the scope {endpoint.scope}",
                reason="SCOPE_MISSING",
                metadata={"scope": endpoint.scope},
            )
        return holder

    def _seconds(self, text: str) -> float:
        if not _SECONDS.fullmatch(text):
            raise _refused("x-request-timeout", validation_errors.NUMBER_TEXT)
        seconds = float(text)
        if seconds <= 0:
            raise _refused("x-request-timeout", validation_errors.above(0))
        return min(seconds, self._most_seconds)


def _limit(text: str | None) -> float | None:
    """How long the key may be asked about; a header that is no number of seconds is refused only afterwards."""
    return float(text) or None if text is not None and _SECONDS.fullmatch(text) else None


def _idempotency_key(text: str | None) -> str | None:
    if text is None or _KEY.fullmatch(text):
        return text
    refusal = Problem("string_pattern_mismatch", "String should have 1 to 255 printable ASCII characters and no spaces")
    raise _refused("idempotency-key", refusal)


def _refused(header: str, refusal: Problem) -> InvalidRequest:
    return InvalidRequest([refusal.at(("header", header))])


def _trace(text: str | None) -> str | None:
    return text if text is not None and _TRACE.fullmatch(text) else None
