"""Pages: what they share, who may see them, and how errors look to people."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import aiohttp_jinja2
import jinja2
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from services.chassis.context import bind
from services.chassis.turns import list_in_turns
from services.gateway.dashboard.assets import Assets
from services.gateway.dashboard.csv_tables import LoadTable, send_table, wants_csv
from services.gateway.dashboard.error_pages import explain
from services.gateway.dashboard.moments import mark_moments
from services.gateway.dashboard.permissions import may_call, scopes_of_operations
from services.gateway.dashboard.resources import read
from services.gateway.http.authentication import AccessRule, Authentication
from services.gateway.http.json_responses import HttpError, map_error
from services.gateway.http.request_context import REQUEST_CONTEXT, REQUEST_ID
from services.gateway.http.session_cookie import csrf_token, session_token

Values = Mapping[str, Any]
# What a template shows. HttpError.
Load = Callable[[web.Request], Awaitable[Values]]

AUTHENTICATION = web.AppKey("authentication", Authentication)
# Who may see pages; each operation that a page calls checks its own scope.
READERS = AccessRule("read")
SIGN_IN = "/sign-in"
# Below this prefix programs ask, and get JSON.
REST = "/api/"
# Parts of a template that are rendered between two looks at the clock: each takes microseconds.
PARTS_AT_ONCE = 50
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "media-src 'self'",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


def set_up(app: web.Application, assets: Assets) -> None:
    """Make the templates known to an application."""
    environment = aiohttp_jinja2.setup(
        app,
        loader=jinja2.PackageLoader("services.gateway.dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["moments"] = mark_moments
    environment.globals["asset"] = assets.url
    environment.globals["imports"] = assets.imports
    environment.globals["scope_of"] = scopes_of_operations().__getitem__


def with_session(load: Load) -> Load:
    """Also shows with which key somebody has signed in."""

    async def load_both(request: web.Request) -> Values:
        key, values = await asyncio.gather(read(request, "GetCurrentApiKey"), load(request))
        return {"key": key, **values}

    return load_both


def page(template: str, load: Load, table: LoadTable | None = None) -> Handler:
    """The handler of a page; somebody who has not signed in is sent to do so, and comes back. `table`: its CSV."""

    async def show(request: web.Request) -> web.StreamResponse:
        if table is not None and wants_csv(request):
            return await send_table(request, await table(request), SECURITY_HEADERS)
        return await render_in_turns(request, template, await load(request))

    return _for_readers(show)


def redirection(find: Callable[[web.Request], Awaitable[str]]) -> Handler:
    """The handler of an address that leads to the one that is found."""

    async def show(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={hdrs.LOCATION: await find(request)})

    return _for_readers(show)


def _for_readers(show: Handler) -> Handler:
    """As `show`, with errors as pages. It counts as one request of the caller, whatever it reads, and each resource is
    read once.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            await request.app[AUTHENTICATION].authenticate(request, READERS)
            context = request[REQUEST_CONTEXT]
            context.resources = {}
            with bind(context.caller):
                return await show(request)
        except Exception as error:
            return await _refuse(request, map_error(error, request[REQUEST_ID]))

    return handle


async def show_unknown(request: web.Request) -> web.StreamResponse:
    """What a browser sees at an address without a page; whatever else asks gets an error as JSON.

    Raises:
        HttpError: 404.
    """
    error = HttpError(404, "Not Found", "PATH_UNKNOWN")
    if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD) or not _is_for_people(request):
        raise error
    with suppress(Exception):  # who has not signed in, or asks too often, sees the page without a name
        await request.app[AUTHENTICATION].authenticate(request, READERS)
    return await _show_error(request, error)


def _is_for_people(request: web.Request) -> bool:
    return "text/html" in request.headers.get(hdrs.ACCEPT, "") and not request.path.startswith(REST)


def render(request: web.Request, template: str, values: Values, status: int = 200) -> web.Response:
    """A page with these values."""
    return _response(aiohttp_jinja2.render_string(template, request, _with_shared(request, values)), status)


async def render_in_turns(request: web.Request, template: str, values: Values) -> web.Response:
    """As `render`, with pauses for other requests."""
    parts = aiohttp_jinja2.get_env(request.app).get_template(template).stream(_with_shared(request, values))
    parts.enable_buffering(PARTS_AT_ONCE)
    return _response("".join(await list_in_turns(parts)))


def _with_shared(request: web.Request, values: Values) -> Values:
    token = session_token(request)
    may = may_call(request[REQUEST_CONTEXT].caller.scopes)
    return {"csrf": csrf_token(token) if token else "", "path": request.path, "may": may, **values}


def _response(text: str, status: int = 200) -> web.Response:
    return web.Response(status=status, text=text, content_type="text/html", headers=SECURITY_HEADERS)


async def _refuse(request: web.Request, error: HttpError) -> web.StreamResponse:
    if error.status != 401:
        return await _show_error(request, error)
    place = f"{SIGN_IN}?next={quote(request.path_qs, safe='')}"
    return web.Response(status=303, headers={hdrs.LOCATION: place})


async def _show_error(request: web.Request, error: HttpError) -> web.Response:
    page = explain(request, error)
    return render(request, "error.html", {"error": page, **await _key(request, page.status)}, page.status)


async def _key(request: web.Request, status: int) -> Values:
    """The key of the caller as `key`; nothing if there is none, or if reading it would not work either."""
    context = request[REQUEST_CONTEXT]
    if not context.caller.subject or status >= 500 or status == 429:
        return {}
    with suppress(HttpError), bind(context.caller):
        return {"key": await read(request, "GetCurrentApiKey")}
    return {}
