"""Which route a path leads to."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from services.chassis.clock import SystemClock
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.key_cache import KeyCache
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.contract.operations import all_operations
from services.gateway.http.application import Route, build_application
from services.gateway.http.authentication import Authentication
from services.gateway.http.json_responses import HttpError
from tests.fakes.gateway import FakeApiKeys


async def no_content(_: web.Request) -> web.StreamResponse:
    return web.Response(status=204)


def application(*routes: tuple[str, str]) -> web.Application:
    made = [Route(method, path, no_content) for method, path in routes]
    authenticator = Authenticator(FakeApiKeys(), KeyCache(), SystemClock())
    app = build_application(made, Authentication(authenticator, RateLimiter(SystemClock()), 60))
    app.freeze()
    return app


APP = application(
    ("GET", "/apps/{app_id}"),
    ("GET", "/apps/{app_id}/builds"),
    ("GET", "/apps/builds/{version_id}"),
    ("GET", "/apps"),
    ("POST", "/apps"),
    ("GET", "/tests/{test_id}"),
    ("POST", "/tests/execute"),
)


async def resolve(method: str, path: str) -> web.UrlMappingMatchInfo:
    match = await APP.router.resolve(make_mocked_request(method, path))
    assert isinstance(match, web.UrlMappingMatchInfo)
    return match


async def answer(method: str, path: str) -> web.StreamResponse:
    return await (await resolve(method, path)).handler(make_mocked_request(method, path))


@pytest.mark.parametrize(
    ("method", "path", "template", "values"),
    [
        ("GET", "/apps", "/apps", {}),
        ("GET", "/apps/", "/apps/", {}),
        ("POST", "/apps/", "/apps/", {}),
        ("GET", "/apps/a%20b", "/apps/{app_id}", {"app_id": "a b"}),
        ("GET", "/apps/x/", "/apps/{app_id}/", {"app_id": "x"}),
        ("GET", "/apps/builds/7", "/apps/builds/{version_id}", {"version_id": "7"}),
        ("GET", "/apps/7/builds", "/apps/{app_id}/builds", {"app_id": "7"}),
        ("GET", "/apps/builds/builds", "/apps/builds/{version_id}", {"version_id": "builds"}),
        ("GET", "/apps/builds", "/apps/{app_id}", {"app_id": "builds"}),
        ("POST", "/tests/execute", "/tests/execute", {}),
        ("GET", "/tests/execute7", "/tests/{test_id}", {"test_id": "execute7"}),
        ("GET", "/apps/%2F", "/apps/{app_id}", {"app_id": "/"}),
        ("GET", "/apps/%25", "/apps/{app_id}", {"app_id": "%"}),
        ("GET", "/apps/%E2%82%AC", "/apps/{app_id}", {"app_id": "€"}),
        ("HEAD", "/apps/x", "/apps/{app_id}", {"app_id": "x"}),
    ],
)
async def test_known_paths(method: str, path: str, template: str, values: dict[str, str]) -> None:
    match = await resolve(method, path)
    assert match.route.method == method
    assert match.route.resource is not None
    assert (match.route.resource.canonical, dict(match)) == (template, values)


@pytest.mark.parametrize("path", ["/", "/apps//", "/apps//builds", "/nothing", "/apps/%ff", "/apps/1/2/3", "/a" * 4000])
async def test_unknown_paths(path: str) -> None:
    with pytest.raises(HttpError) as caught:
        await answer("GET", path)
    assert (caught.value.status, caught.value.code) == (404, "PATH_UNKNOWN")


@pytest.mark.parametrize("target", ["*", "//"])
async def test_a_target_without_a_path_is_left_to_aiohttp(target: str) -> None:
    assert isinstance((await resolve("GET", target)).http_exception, web.HTTPNotFound)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/apps", "GET, HEAD, OPTIONS, POST"),
        ("DELETE", "/apps/", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/apps/7", "GET, HEAD, OPTIONS"),
        ("GET", "/tests/execute", "OPTIONS, POST"),
        ("DELETE", "/tests/execute", "OPTIONS, POST"),
    ],
)
async def test_wrong_method_gets_all_methods_of_the_path(method: str, path: str, allowed: str) -> None:
    """A path of its own is no id in another path: GET /tests/execute does not ask for the test "execute"."""
    with pytest.raises(HttpError) as caught:
        await answer(method, path)
    assert (caught.value.status, caught.value.headers) == (405, {"Allow": allowed})


@pytest.mark.parametrize("path", ["/apps", "/apps/7", "/nothing"])
async def test_unknown_method(path: str) -> None:
    with pytest.raises(HttpError) as caught:
        await answer("PROPFIND", path)
    assert (caught.value.status, caught.value.code) == (501, "METHOD_UNKNOWN")


def test_duplicate_routes_are_rejected() -> None:
    with pytest.raises(ValueError, match="two routes"):
        application(("GET", "/a/{x}"), ("GET", "/a/{y}"))


def test_all_operations_fit_into_one_application() -> None:
    app = application(*((operation.verb, operation.template) for operation in all_operations()))
    registered = {
        (route.method, route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "*"
    }
    expected = {
        (method, path)
        for operation in all_operations()
        for method in ({"GET", "HEAD"} if operation.verb == "GET" else {operation.verb})
        for path in (operation.template, f"{operation.template}/")
    }
    assert registered == expected
