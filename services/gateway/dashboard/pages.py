"""Pages: what they share, who may see them, and how errors look to people."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import aiohttp_jinja2
import jinja2
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from services.chassis.context import bind
from services.chassis.turns import list_in_turns
from services.gateway.dashboard.assets import Assets
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
    environment.globals["asset"] = assets.url
    environment.globals["imports"] = assets.imports


def with_session(load: Load) -> Load:
    """Also shows with which key somebody has signed in."""

    async def load_both(request: web.Request) -> Values:
        key, values = await asyncio.gather(read(request, "GetCurrentApiKey"), load(request))
        return {"key": key, **values}

    return load_both


def page(template: str, load: Load) -> Handler:
    """The handler of a page; somebody who has not signed in is sent to do so, and comes back."""

    async def show(request: web.Request) -> web.StreamResponse:
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
            return _refuse(request, map_error(error, request[REQUEST_ID]))

    return handle


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
    return {"csrf": csrf_token(token) if token else "", "path": request.path, **values}


def _response(text: str, status: int = 200) -> web.Response:
    return web.Response(status=status, text=text, content_type="text/html", headers=SECURITY_HEADERS)


def _refuse(request: web.Request, error: HttpError) -> web.StreamResponse:
    if error.status != 401:
        return render(request, "error.html", {"error": error}, error.status)
    place = f"{SIGN_IN}?next={quote(request.path_qs, safe='')}"
    return web.Response(status=303, headers={hdrs.LOCATION: place})
