"""Metrics of HTTP requests."""

from time import perf_counter

from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import Counter, Histogram

from services.chassis import metrics

_requests = metrics.counter("mobiletest_http_requests_total", "Requests that ended", ["route", "method", "code"])
_seconds = metrics.histogram("mobiletest_http_request_duration_seconds", "Duration of requests", ["route", "method"])
_in_flight = metrics.gauge("mobiletest_http_in_flight", "Requests under way")

UNKNOWN_ROUTE = "unknown"
CLIENT_GONE = 499
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class HttpMetrics:
    """Counts and times requests. Its labels are bounded: path templates, known methods, status codes."""

    def __init__(self) -> None:
        self._requests_in_flight = 0
        self._series: dict[tuple[object, int], tuple[Counter, Histogram]] = {}
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
        method = request.method if request.method in _METHODS else "other"
        key = (match.route if match.http_exception is None else method, code)
        found = self._series.get(key)
        if found is None:
            path = _path_template(match)
            found = self._series[key] = (_requests.labels(path, method, str(code)), _seconds.labels(path, method))
        counter, histogram = found
        counter.inc()
        histogram.observe(seconds)


def _path_template(match: web.UrlMappingMatchInfo) -> str:
    """The template "/api/v1/apps/{app_id}", with or without a slash at the end of the request's path."""
    resource = match.route.resource
    return resource.canonical.rstrip("/") if resource is not None else UNKNOWN_ROUTE
