"""Request ids, metrics, errors as JSON, and the headers that every response has."""

import re
from secrets import token_hex
from time import perf_counter

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler
from multidict import istr
from prometheus_client import Counter, Histogram

from services.chassis import metrics
from services.gateway.http.json_responses import HttpError, error_response, map_error
from services.gateway.http.request_body import check_transfer_encoding
from services.gateway.http.request_context import REQUEST_CONTEXT, REQUEST_ID

FIXED_HEADERS = {
    hdrs.SERVER: "mobiletest",
    istr("X-Content-Type-Options"): "nosniff",
    hdrs.CACHE_CONTROL: "no-store",
}
REQUEST_ID_HEADER = istr("X-Request-ID")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)

_requests = metrics.counter("mobiletest_http_requests_total", "Requests that ended", ["route", "method", "code"])
_seconds = metrics.histogram("mobiletest_http_request_duration_seconds", "Duration of requests", ["route", "method"])
_in_flight = metrics.gauge("mobiletest_http_in_flight", "Requests under way")

# The template of the resource that all other paths lead to.
UNKNOWN_PATH = "/{unknown}"
UNKNOWN_ROUTE = "unknown"
CLIENT_GONE = 499
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


@web.middleware
async def assign_request_id(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Use the client's own id when it is well-formed, else a new one."""
    given = request.headers.get(REQUEST_ID_HEADER)
    request[REQUEST_ID] = given if given is not None and _REQUEST_ID.fullmatch(given) else token_hex(16)
    return await handler(request)


class HttpMetrics:
    """Counts and times requests. Its labels are bounded: path templates, known methods, status codes."""

    def __init__(self) -> None:
        self._requests_in_flight = 0
        self._series: dict[tuple[object, str, int], tuple[Counter, Histogram]] = {}
        _in_flight.set_function(lambda: self._requests_in_flight)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Observe one request; 499 stands for a client that closed the connection."""
        start, code = perf_counter(), CLIENT_GONE
        self._requests_in_flight += 1
        try:
            response = await handler(request)
            code = response.status
            return response
        finally:
            self._requests_in_flight -= 1
            self._observe(request, code, perf_counter() - start)

    def _observe(self, request: web.Request, code: int, seconds: float) -> None:
        match = request.match_info
        method = request.method if request.method in METHODS else "other"
        key = (match.route if match.http_exception is None else None, method, code)
        series = self._series.get(key)
        if series is None:
            path = _path_template(match)
            series = self._series[key] = (_requests.labels(path, method, str(code)), _seconds.labels(path, method))
        counter, histogram = series
        counter.inc()
        histogram.observe(seconds)


def _path_template(match: web.UrlMappingMatchInfo) -> str:
    """The template "/api/v1/apps/{app_id}", with or without a slash at the end of the request's path."""
    resource = match.route.resource
    if resource is None or resource.canonical == UNKNOWN_PATH:
        return UNKNOWN_ROUTE
    return resource.canonical.rstrip("/")


@web.middleware
async def handle_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every exception with JSON."""
    try:
        if request.body_exists:
            check_transfer_encoding(request)
        return await handler(request)
    except web.HTTPException as error:
        return error_response(map_http_exception(error))
    except Exception as error:
        return error_response(map_error(error, request[REQUEST_ID]))


def map_http_exception(error: web.HTTPException) -> HttpError:
    """aiohttp raises only two, both for requests whose target is no path: 404, and 417 for unknown expectations."""
    if error.status == 404:
        return HttpError(404, "Not Found", "PATH_UNKNOWN")
    return HttpError(417, "Expect can only be 100-continue", "EXPECTATION_FAILED")


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
