"""Requests of a browser that has signed in: authenticated by a cookie, and changes by a token of the page, too."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from services.chassis.clock import SystemClock
from services.gateway.auth.api_keys import KeyHolder
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.key_cache import KeyCache
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.http.application import Route, build_application
from services.gateway.http.authentication import AccessRule, Authentication
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.http.session_cookie import csrf_token, remove_session, set_session
from tests.fakes.gateway import FakeApiKeys, new_key

TOKEN, KEY = new_key("ms_"), new_key()
COOKIE = {"Cookie": f"mobiletest-session={TOKEN}"}
Client = TestClient[web.Request, web.Application]


async def who(request: web.Request) -> web.StreamResponse:
    context = request[REQUEST_CONTEXT]
    return web.json_response([context.caller.subject, context.session_id])


async def sign_in(request: web.Request) -> web.StreamResponse:
    response = web.Response()
    set_session(request, response, TOKEN, 60)
    return response


async def sign_out(_: web.Request) -> web.StreamResponse:
    response = web.Response()
    remove_session(response)
    return response


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    keys = FakeApiKeys()
    keys.holders[TOKEN] = KeyHolder("key-1", "org", frozenset({"read"}), session_id="session-1")
    keys.holders[KEY] = KeyHolder("key-2", "org", frozenset({"read"}))
    authentication = Authentication(
        Authenticator(keys, KeyCache(), SystemClock()), RateLimiter(SystemClock()), max_timeout=60
    )
    read = AccessRule("read")
    routes = [Route("GET", "/who", who, read), Route("POST", "/who", who, read), Route("POST", "/in", sign_in)]
    app = build_application([*routes, Route("POST", "/out", sign_out)], authentication)
    async with TestClient(TestServer(app)) as made:
        yield made


async def test_the_cookie_stands_for_its_key(client: Client) -> None:
    """Behind TLS only under the name that no other host of the domain can set."""
    for name, protocol, status in (
        ("mobiletest-session", "http", 200),
        ("__Host-mobiletest-session", "https", 200),
        ("mobiletest-session", "https", 401),
    ):
        response = await client.get("/who", headers={"Cookie": f"{name}={TOKEN}", "X-Forwarded-Proto": protocol})
        assert response.status == status
        assert status == 401 or await response.json() == ["key-1", "session-1"]


async def test_a_key_in_the_header_precedes_the_cookie(client: Client) -> None:
    response = await client.post("/who", headers={**COOKIE, "Authorization": f"Bearer {KEY}"})
    assert await response.json() == ["key-2", ""]


@pytest.mark.parametrize("token", ["", "x", csrf_token("ms_" + "a" * 43), "\u00e9"])
async def test_a_change_needs_the_token_of_the_session(client: Client, token: str) -> None:
    response = await client.post("/who", headers={**COOKIE, "X-CSRF-Token": token})
    assert (response.status, (await response.json())["code"]) == (403, "CSRF_TOKEN_INVALID")
    response = await client.post("/who", headers={**COOKIE, "X-CSRF-Token": csrf_token(TOKEN)})
    assert response.status == 200


async def test_an_unknown_session_has_ended(client: Client) -> None:
    for token in (new_key("ms_"), "nonsense", KEY):
        response = await client.get("/who", headers={"Cookie": f"mobiletest-session={token}"})
        assert (response.status, (await response.json())) == (
            401,
            {"detail": "Invalid API key" if token.startswith("ms_") else "The session has ended; sign in again"},
        )


async def test_scripts_and_other_sites_cannot_use_the_cookie(client: Client) -> None:
    plain = (await client.post("/in")).headers["Set-Cookie"]
    assert plain == f"mobiletest-session={TOKEN}; HttpOnly; Max-Age=60; Path=/; SameSite=Strict"
    behind_tls = (await client.post("/in", headers={"X-Forwarded-Proto": "https"})).headers["Set-Cookie"]
    assert behind_tls == f"__Host-mobiletest-session={TOKEN}; HttpOnly; Max-Age=60; Path=/; SameSite=Strict; Secure"
    removed = (await client.post("/out")).headers.getall("Set-Cookie")
    assert [cookie.partition("=")[0] for cookie in removed] == ["__Host-mobiletest-session", "mobiletest-session"]
    assert all("Max-Age=0" in cookie for cookie in removed)
