"""The aiohttp application: routes and middlewares."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from services.gateway.http.authentication import PUBLIC, AccessRule, Authentication
from services.gateway.http.json_responses import HttpError
from services.gateway.http.middlewares import (
    METHODS,
    UNKNOWN_PATH,
    HttpMetrics,
    add_standard_headers,
    assign_request_id,
    handle_errors,
)
from services.gateway.http.representations import negotiation

_PARAMETER = re.compile(r"\{(\w+)\}", re.ASCII)
# Any path segment. aiohttp decodes all escapes in a path but %2F and %25; others that are left are not UTF-8.
_VALUE = r"{\1:(?:[^/%]++|%2F|%25)+}"


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path ("/api/v1/apps/{app_id}"), its handler, and what it requires of its callers."""

    method: str
    path: str
    handler: Handler
    access: AccessRule = PUBLIC


async def _unknown_path(request: web.Request) -> web.StreamResponse:
    raise HttpError(404, "Not Found", "PATH_UNKNOWN")


def build_application(
    routes: Iterable[Route], authentication: Authentication, unknown: Handler = _unknown_path
) -> web.Application:
    """An application that answers errors in JSON; `unknown` answers requests whose path has no route.

    Raises:
        ValueError: two routes are the same.
    """
    app = web.Application(
        middlewares=[
            assign_request_id,
            HttpMetrics().middleware,
            negotiation(),
            handle_errors,
            authentication.middleware,
        ]
    )
    app.on_response_prepare.append(add_standard_headers)
    ordered = sorted(routes, key=_specificity)
    _check_unique(ordered)
    for path, of_path in groupby(ordered, key=lambda route: route.path):
        group = list(of_path)
        for pattern in (path, f"{path}/"):
            _add_resource(app, pattern, group, authentication)
    everything_else = app.router.add_resource(f"{UNKNOWN_PATH[:-1]}:.*}}")
    _add_route(everything_else, hdrs.METH_ANY, _known_methods(unknown), authentication)
    return app


def _add_resource(app: web.Application, path: str, routes: list[Route], authentication: Authentication) -> None:
    """The routes of a path, and one that refuses all other methods: no path with a parameter is tried after it."""
    resource = app.router.add_resource(_PARAMETER.sub(_VALUE, path))
    allowed = {hdrs.METH_OPTIONS}
    for route in routes:
        methods = (hdrs.METH_GET, hdrs.METH_HEAD) if route.method == hdrs.METH_GET else (route.method,)
        allowed.update(methods)
        for method in methods:
            _add_route(resource, method, route.handler, authentication, route.access)
    _add_route(resource, hdrs.METH_ANY, _refuse_others(allowed), authentication)


def _add_route(
    resource: web.Resource, method: str, handler: Handler, authentication: Authentication, access: AccessRule = PUBLIC
) -> None:
    authentication.add_rule(resource.add_route(method, handler, expect_handler=_defer_100_continue), access)


def _refuse_others(allowed: Iterable[str]) -> Handler:
    """OPTIONS, which browsers need without an API key, names the allowed methods; every other one is an error."""
    names = ", ".join(sorted(allowed))

    async def refuse(request: web.Request) -> web.StreamResponse:
        if request.method == hdrs.METH_OPTIONS:
            return web.Response(status=204, headers={"Allow": names})
        _check_method(request)
        message = f"{request.method} is not allowed here; use {names}"
        raise HttpError(405, message, "METHOD_NOT_ALLOWED", headers={"Allow": names})

    return refuse


def _known_methods(handler: Handler) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        _check_method(request)
        return await handler(request)

    return handle


def _check_method(request: web.Request) -> None:
    if request.method not in METHODS:
        raise HttpError(501, f"The method {request.method} is not supported", "METHOD_UNKNOWN")


async def _defer_100_continue(_: web.Request) -> None:
    """The reader of the body sends it, once the request has been found acceptable."""


def _specificity(route: Route) -> list[tuple[bool, str]]:
    """Sorts literal segments before parameters: aiohttp tries resources in the order in which they were added."""
    return [(segment.startswith("{"), segment) for segment in route.path.split("/")]


def _check_unique(routes: Iterable[Route]) -> None:
    known: set[tuple[str, str]] = set()
    for route in routes:
        shape = (route.method, _PARAMETER.sub("{}", route.path))
        if shape in known:
            raise ValueError(f"two routes for {route.method} {route.path}")
        known.add(shape)
