"""Authenticates requests, and reads the headers that say how to handle them."""

import asyncio
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from multidict import istr

from services.chassis.context import Caller
from services.chassis.errors import PermissionDenied
from services.gateway.auth.api_keys import KeyHolder
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.decoding.validation_errors import FieldError, InvalidRequest, known_error
from services.gateway.http.request_context import REQUEST_CONTEXT, REQUEST_ID, RequestContext
from services.gateway.http.session_cookie import has_csrf_token, session_token

_PREFER, _TIMEOUT, _TRACEPARENT = istr("Prefer"), istr("X-Request-Timeout"), istr("traceparent")
_IDEMPOTENCY_KEY = istr("Idempotency-Key")
_TIMEOUT_LOCATION = ("header", "x-request-timeout")
_ANONYMOUS = KeyHolder("", "", frozenset())
_VALID_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)
_STRICT = re.compile(r"(?:^|[,;\s])handling\s*=\s*\"?strict\"?(?:$|[,;\s])", re.IGNORECASE | re.ASCII)
_VALID_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)
# A decimal number. More digits than a float has cost nothing to read.
_SECONDS = re.compile(r"[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,9})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AccessRule:
    """What a route requires of its callers: a scope (none: open to everyone); whether it reads Idempotency-Key."""

    scope: str = ""
    takes_idempotency_key: bool = False


PUBLIC = AccessRule()


class Authentication:
    """The middleware that puts a RequestContext into each request that matched a route.

    Raises:
        Unauthenticated: there is no valid key or session.
        PermissionDenied: the key lacks the scope.
        InvalidRequest: a header is not valid.
        ResourceExhausted: there are too many requests.
    """

    def __init__(self, authenticator: Authenticator, limiter: RateLimiter, max_timeout: float) -> None:
        """A client's X-Request-Timeout is capped at `max_timeout` seconds."""
        self._authenticator = authenticator
        self._limiter = limiter
        self._max_timeout = max_timeout
        self._rules: dict[web.AbstractRoute, AccessRule] = {}

    def add_rule(self, route: web.AbstractRoute, rule: AccessRule) -> None:
        """Every route needs one."""
        self._rules[route] = rule

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        match = request.match_info
        if match.http_exception is None:
            await self.authenticate(request, self._rules[match.route])
        return await handler(request)

    async def authenticate(self, request: web.Request, rule: AccessRule) -> None:
        """Put the RequestContext into a request, and count it. The errors of the middleware."""
        holder = await self._authenticate(request) if rule.scope else _ANONYMOUS
        response_headers: dict[str, str] = {}
        if rule.scope:
            request[REQUEST_CONTEXT] = RequestContext(Caller(holder.org_id), response_headers=response_headers)
            self._limiter.take(holder, response_headers)
            check_scope(rule.scope, holder.scopes)
        request[REQUEST_CONTEXT] = self._context(request, rule, holder, response_headers)

    async def _authenticate(self, request: web.Request) -> KeyHolder:
        """A timeout that is not valid is rejected only afterwards."""
        text = request.headers.get(_TIMEOUT)
        timeout = self._seconds(text) if text is not None else 0.0
        if not timeout:
            return await self._holder(request)
        async with asyncio.timeout(timeout):
            return await self._holder(request)

    async def _holder(self, request: web.Request) -> KeyHolder:
        """Of the key in the header, otherwise of the session in the cookie."""
        authorization = request.headers.getall(hdrs.AUTHORIZATION, ())
        token = None if authorization else session_token(request)
        if token is None:
            return await self._authenticator.holder(authorization)
        holder = await self._authenticator.session_holder(token)
        if not has_csrf_token(request, token):
            message = "X-CSRF-Token is missing or of another session; reload the page"
            raise PermissionDenied(message, reason="CSRF_TOKEN_INVALID")
        return holder

    def _context(
        self, request: web.Request, rule: AccessRule, holder: KeyHolder, response_headers: dict[str, str]
    ) -> RequestContext:
        headers = request.headers
        prefer, timeout = headers.get(_PREFER), headers.get(_TIMEOUT)
        caller = Caller(
            org_id=holder.org_id,
            subject=holder.key_id,
            subject_name=holder.name or None,
            scopes=holder.scopes,
            request_id=request[REQUEST_ID],
            traceparent=_parse_traceparent(headers.get(_TRACEPARENT)),
            idempotency_key=_parse_idempotency_key(headers) if rule.takes_idempotency_key else None,
            via_gateway=True,
        )
        return RequestContext(
            caller,
            timeout=self._parse_timeout(timeout) if timeout is not None else None,
            strict=prefer is not None and _STRICT.search(prefer) is not None,
            key_expires_at=holder.expires_at,
            limits=holder.limits,
            session_id=holder.session_id,
            response_headers=response_headers,
        )

    def _parse_timeout(self, text: str) -> float:
        seconds = self._seconds(text)
        if seconds is None:
            raise InvalidRequest([known_error(_TIMEOUT_LOCATION, "float_parsing")])
        if not seconds:
            raise InvalidRequest([known_error(_TIMEOUT_LOCATION, "greater_than", gt=0)])
        return seconds

    def _seconds(self, text: str) -> float | None:
        """At most the limit; None for what is no number."""
        return min(float(text), self._max_timeout) if _SECONDS.fullmatch(text) else None


def check_scope(scope: str, scopes: Container[str]) -> None:
    """Check the scope that an operation needs.

    Raises:
        PermissionDenied: the scope is not among those of the caller's key.
    """
    if scope not in scopes:
        message = f"This API key lacks the scope {scope}"
        raise PermissionDenied(message, reason="SCOPE_MISSING", metadata={"scope": scope})


def _parse_idempotency_key(headers: Mapping[str, str]) -> str | None:
    text = headers.get(_IDEMPOTENCY_KEY)
    if text is None or _VALID_IDEMPOTENCY_KEY.fullmatch(text):
        return text
    message = "String should have 1 to 255 printable ASCII characters and no spaces"
    raise InvalidRequest([FieldError(("header", "idempotency-key"), message, "string_pattern_mismatch")])


def _parse_traceparent(text: str | None) -> str | None:
    return text if text is not None and _VALID_TRACEPARENT.fullmatch(text) else None
