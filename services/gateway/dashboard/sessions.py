"""Signing in with an API key, and out again."""

from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import quote

import orjson
from aiohttp import hdrs, web
from mobiletest.catalog.v1 import sessions_pb2, sessions_pb2_grpc

from services.chassis.errors import PermissionDenied, Unauthenticated
from services.chassis.grpc_channel import Channel
from services.chassis.turns import pause
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.dashboard.pages import render
from services.gateway.http.json_responses import HttpError, map_error
from services.gateway.http.request_body import JSON_TYPE, BodyMemory, read_form, read_json
from services.gateway.http.request_context import REQUEST_ID
from services.gateway.http.session_cookie import (
    csrf_token,
    has_csrf_token,
    is_of_another_site,
    remove_session,
    session_token,
    set_session,
)

MAX_BYTES, BODY_SECONDS = 1024, 5.0
# Characters of an address that stay as they are.
_ADDRESS = "%/?#&=+:;,@!$'()*~[]"


class SessionHandlers:
    """`POST`, `GET` and `DELETE /session`, and `POST /sign-in`; sessions are kept by the catalog.

    Each counts as a request of its key.
    """

    def __init__(
        self, catalog: Channel, authenticator: Authenticator, limiter: RateLimiter, memory: BodyMemory
    ) -> None:
        self._stub = sessions_pb2_grpc.SessionsStub(catalog)  # type: ignore[no-untyped-call]
        self._authenticator = authenticator
        self._limiter = limiter
        self._memory = memory

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Begin a session with the key in {"key"}, and keep its token in a cookie.

        Raises:
            Unauthenticated: the key or session is not valid.
            ResourceExhausted: the key is used too often.
            PermissionDenied: another site sent the request.
        """
        _check_type(request)
        key = _json_key(await read_json(request, MAX_BYTES, BODY_SECONDS, memory=self._memory, org_id=""))
        return await self._begin(request, key, web.Response(status=204))

    async def begin_by_form(self, request: web.Request) -> web.StreamResponse:
        """As `begin`, for the form of the page to sign in, which the browser sends itself where no script does.

        It leads to the page that was wanted, or shows the form with what is wrong.
        """
        try:
            form = await read_form(request, MAX_BYTES, BODY_SECONDS, memory=self._memory, org_id="")
            place = quote(_wanted_page(request), safe=_ADDRESS)
            onward = web.Response(status=303, headers={hdrs.LOCATION: place})
            return await self._begin(request, _checked_key(form.get("key")), onward)
        except Exception as error:
            refusal = map_error(error, request[REQUEST_ID])
            await pause()  # many bodies may end at the same time
            response = _show_form(request, refusal.message, refusal.status)
            response.headers.update(refusal.headers)
            if refusal.close:
                response.force_close()
            return response

    async def _begin(self, request: web.Request, key: str, response: web.Response) -> web.StreamResponse:
        if is_of_another_site(request):
            raise PermissionDenied("The request came from another site: sign in on this page", reason="ORIGIN_FOREIGN")
        self._limiter.take(await self._authenticator.holder([f"Bearer {key}"]), {})
        answer = await self._stub.CreateSession(sessions_pb2.CreateSessionRequest(key=key))
        ends = answer.session.expires_at.ToDatetime(UTC)
        set_session(request, response, answer.token, int((ends - datetime.now(UTC)).total_seconds()))
        return response

    async def show(self, request: web.Request) -> web.StreamResponse:
        """{"csrf_token"} of the session, for a page that was loaded in an earlier one.

        Raises:
            Unauthenticated: the key or session is not valid.
        """
        token = session_token(request)
        if token is None:
            raise Unauthenticated("Sign in first", reason="SESSION_REQUIRED")
        await self._authenticator.session_holder(token)
        body = orjson.dumps({"csrf_token": csrf_token(token)})
        return web.Response(body=body, content_type="application/json", headers={hdrs.CACHE_CONTROL: "no-store"})

    async def end(self, request: web.Request) -> web.StreamResponse:
        """End the session everywhere.

        Raises:
            PermissionDenied: X-CSRF-Token is missing or wrong.
            ResourceExhausted: the key is used too often.
        """
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


def _json_key(body: bytes) -> str:
    """HttpError 422: the body has no key."""
    try:
        key = orjson.loads(body)["key"]
    except (ValueError, KeyError, TypeError):
        key = None
    return _checked_key(key)


def _checked_key(key: object) -> str:
    """HttpError 422: it is no text, or empty."""
    if not isinstance(key, str) or not key.strip():
        detail = [{"loc": ["body", "key"], "msg": "Paste an API key", "type": "missing"}]
        raise HttpError(422, detail, "VALIDATION_FAILED")
    return key.strip()


async def show_sign_in(request: web.Request) -> web.StreamResponse:
    """The form; afterwards the browser goes to the page that was wanted, if it is one of ours.

    Browsers leave out the cookie when a link of another site is followed: then they go to the page once more first.
    """
    wanted = request.query.get("next", "")
    if request.headers.get("Sec-Fetch-Site") == "cross-site" and _is_own(wanted):
        return render(request, "again.html", {"next": wanted})
    return _show_form(request)


def _show_form(request: web.Request, error: str = "", status: int = 200) -> web.Response:
    """The form, and what is wrong with what was sent. The browser sends it by POST, with a script or without."""
    return render(request, "sign_in.html", {"next": _wanted_page(request), "error": error}, status)


def _wanted_page(request: web.Request) -> str:
    """The page of ours to go to after signing in."""
    wanted = request.query.get("next", "")
    return wanted if _is_own(wanted) else "/"


def _is_own(place: str) -> bool:
    """Whether an address is a page of this origin: "//" begins a host, and browsers drop tabs and ends of lines."""
    return place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
