"""Request ids, errors as JSON, and the headers that every response has."""

import re
from secrets import token_hex

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from multidict import istr

from services.gateway.http.errors import HttpError, expectation_failed, method_not_allowed, unknown_path
from services.gateway.http.json_responses import error_response, map_error
from services.gateway.http.request_context import REQUEST_CONTEXT, REQUEST_ID

FIXED_HEADERS = {
    hdrs.SERVER: "mobiletest",
    istr("X-Content-Type-Options"): "nosniff",
    hdrs.CACHE_CONTROL: "no-store",
}
REQUEST_ID_HEADER = istr("X-Request-ID")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)


@web.middleware
async def assign_request_id(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Use the client's own id when it is well-formed, else a new one."""
    given = request.headers.get(REQUEST_ID_HEADER)
    request[REQUEST_ID] = given if given is not None and _REQUEST_ID.fullmatch(given) else token_hex(16)
    return await handler(request)


@web.middleware
async def handle_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every exception with JSON."""
    try:
        return await handler(request)
    except web.HTTPMethodNotAllowed as error:
        allowed = with_implied_methods(error.allowed_methods)
        if request.method == hdrs.METH_OPTIONS:
            return web.Response(status=204, headers={"Allow": ", ".join(sorted(allowed))})
        return error_response(method_not_allowed(request.method, allowed))
    except web.HTTPException as error:
        return error_response(map_http_exception(error))
    except Exception as error:
        return error_response(map_error(error, request[REQUEST_ID]))


def with_implied_methods(allowed: set[str]) -> set[str]:
    """The methods of a path, with OPTIONS, which every path answers without an API key, as browsers need it."""
    return {*allowed, hdrs.METH_OPTIONS}


def map_http_exception(error: web.HTTPException) -> HttpError:
    """aiohttp raises only two besides 405: 404 for unknown paths and 417 for unknown expectations."""
    return unknown_path() if error.status == 404 else expectation_failed()


async def add_standard_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Runs before the headers go out (`Application.on_response_prepare`)."""
    headers = response.headers
    cache_control = headers.get(hdrs.CACHE_CONTROL)
    headers.update(FIXED_HEADERS)
    if cache_control is not None:
        headers[hdrs.CACHE_CONTROL] = cache_control
    if (request_id := request.get(REQUEST_ID)) is not None:
        headers[REQUEST_ID_HEADER] = request_id
    if (context := request.get(REQUEST_CONTEXT)) is not None and context.response_headers:
        headers.update(context.response_headers)
