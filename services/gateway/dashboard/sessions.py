"""Signing in with an API key, and out again."""

from datetime import UTC, datetime

import orjson
from aiohttp import hdrs, web
from mobiletest.catalog.v1 import sessions_pb2, sessions_pb2_grpc

from services.chassis import error_status
from services.chassis.errors import PermissionDenied, Unauthenticated
from services.chassis.grpc_channel import Channel
from services.gateway.auth.api_keys import KEY_ERRORS
from services.gateway.http.json_responses import HttpError
from services.gateway.http.request_body import BodyMemory, read_json
from services.gateway.http.session_cookie import csrf_token, has_csrf_token, remove_session, session_token, set_session

MAX_BYTES, BODY_SECONDS = 16 * 1024, 15.0


class SessionHandlers:
    """`POST`, `GET` and `DELETE /session`; sessions are kept by the catalog."""

    def __init__(self, catalog: Channel) -> None:
        self._stub = sessions_pb2_grpc.SessionsStub(catalog)  # type: ignore[no-untyped-call]
        self._memory = BodyMemory()

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Begin a session with the key in {"key"}, and keep its token in a cookie. Unauthenticated."""
        key = _key(await read_json(request, MAX_BYTES, BODY_SECONDS, memory=self._memory, org_id=""))
        try:
            answer = await self._stub.CreateSession(sessions_pb2.CreateSessionRequest(key=key))
        except Exception as error:
            known = error_status.to_domain_error(error)
            if isinstance(known, Unauthenticated) and known.reason in KEY_ERRORS:
                raise KEY_ERRORS[known.reason]() from None
            raise
        response = web.Response(status=204)
        ends = answer.session.expires_at.ToDatetime(UTC)
        set_session(request, response, answer.token, int((ends - datetime.now(UTC)).total_seconds()))
        return response

    async def show(self, request: web.Request) -> web.StreamResponse:
        """{"csrf_token"} of the session, for a page that was loaded in an earlier one. Unauthenticated."""
        token = session_token(request)
        if token is None:
            raise Unauthenticated("Sign in first", reason="SESSION_REQUIRED")
        body = orjson.dumps({"csrf_token": csrf_token(token)})
        return web.Response(body=body, content_type="application/json", headers={hdrs.CACHE_CONTROL: "no-store"})

    async def end(self, request: web.Request) -> web.StreamResponse:
        """End the session everywhere. PermissionDenied: another site sent the request."""
        response = web.Response(status=204)
        token = session_token(request)
        if token is not None:
            if not has_csrf_token(request, token):
                raise PermissionDenied("X-CSRF-Token is missing; reload the page", reason="CSRF_TOKEN_INVALID")
            await self._stub.EndSession(sessions_pb2.EndSessionRequest(token=token))
        remove_session(response)
        return response


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
