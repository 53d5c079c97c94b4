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
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._histograms: dict[tuple[str, str], Histogram] = {}
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
            self._observe(_path_template(request), request.method, code, perf_counter() - start)

    def _observe(self, route: str, method: str, code: int, seconds: float) -> None:
        known = method if method in _METHODS else "other"
        counter = self._counters.get((route, known, code))
        if counter is None:
            counter = self._counters[route, known, code] = _requests.labels(route, known, str(code))
        counter.inc()
        histogram = self._histograms.get((route, known))
        if histogram is None:
            histogram = self._histograms[route, known] = _seconds.labels(route, known)
        histogram.observe(seconds)


def _path_template(request: web.Request) -> str:
    """The template "/api/v1/apps/{app_id}", with or without a slash at the end of the request's path."""
    resource = request.match_info.route.resource
    return resource.canonical.rstrip("/") if resource is not None else UNKNOWN_ROUTE
