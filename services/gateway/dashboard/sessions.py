"""Signing in with an API key, and out again."""

from contextlib import suppress
from datetime import UTC, datetime

import orjson
from aiohttp import hdrs, web
from mobiletest.catalog.v1 import sessions_pb2, sessions_pb2_grpc

from services.chassis.errors import PermissionDenied, Unauthenticated
from services.chassis.grpc_channel import Channel
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.http.json_responses import HttpError
from services.gateway.http.request_body import JSON_TYPE, BodyMemory, read_json
from services.gateway.http.session_cookie import csrf_token, has_csrf_token, remove_session, session_token, set_session

MAX_BYTES, BODY_SECONDS = 1024, 5.0


class SessionHandlers:
    """`POST`, `GET` and `DELETE /session`; sessions are kept by the catalog. Each counts as a request of its key."""

    def __init__(
        self, catalog: Channel, authenticator: Authenticator, limiter: RateLimiter, memory: BodyMemory
    ) -> None:
        self._stub = sessions_pb2_grpc.SessionsStub(catalog)  # type: ignore[no-untyped-call]
        self._authenticator = authenticator
        self._limiter = limiter
        self._memory = memory

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Begin a session with the key in {"key"}, and keep its token in a cookie.

        Unauthenticated; ResourceExhausted: the key is used too often.
        """
        _check_type(request)
        key = _key(await read_json(request, MAX_BYTES, BODY_SECONDS, memory=self._memory, org_id=""))
        self._limiter.take(await self._authenticator.holder([f"Bearer {key}"]), {})
        answer = await self._stub.CreateSession(sessions_pb2.CreateSessionRequest(key=key))
        response = web.Response(status=204)
        ends = answer.session.expires_at.ToDatetime(UTC)
        set_session(request, response, answer.token, int((ends - datetime.now(UTC)).total_seconds()))
        return response

    async def show(self, request: web.Request) -> web.StreamResponse:
        """{"csrf_token"} of the session, for a page that was loaded in an earlier one. Unauthenticated."""
        token = session_token(request)
        if token is None:
            raise Unauthenticated("Sign in first", reason="SESSION_REQUIRED")
        await self._authenticator.session_holder(token)
        body = orjson.dumps({"csrf_token": csrf_token(token)})
        return web.Response(body=body, content_type="application/json", headers={hdrs.CACHE_CONTROL: "no-store"})

    async def end(self, request: web.Request) -> web.StreamResponse:
        """End the session everywhere. PermissionDenied: another site sent the request; ResourceExhausted."""
        response = web.Response(status=204)
        token = session_token(request)
        if token is not None:
            if not has_csrf_token(request, token):
                raise PermissionDenied("X-CSRF-Token is missing; reload the page", reason="CSRF_TOKEN_INVALID")
            with suppress(Unauthenticated):  # it has ended
                self._limiter.take(await self._authenticator.session_holder(token), {})
                await self._stub.EndSession(sessions_pb2.EndSessionRequest(token=token))
        remove_session(response)
        return response


def _check_type(request: web.Request) -> None:
    """HttpError 415: no type is given, as in what pages of other hosts may send without asking."""
    if hdrs.CONTENT_TYPE not in request.headers:
        raise HttpError(415, f"Send the body as {JSON_TYPE}", "CONTENT_TYPE_UNSUPPORTED")


def _key(body: bytes) -> str:
    """HttpError 422: the body has no key."""
    try:
        key = orjson.loads(body)["key"]
    except (ValueError, KeyError, TypeError):
        key = None
    if not isinstance(key, str) or not key.strip():
        detail = [{"loc": ["body", "key"], "msg": "Paste an API key", "type": "missing"}]
        raise HttpError(422, detail, "VALIDATION_FAILED")
    return key.strip()
