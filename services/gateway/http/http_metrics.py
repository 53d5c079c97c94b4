"""The metrics of HTTP."""

from prometheus_client import Counter, Histogram

from services.chassis import metrics

_requests = metrics.counter("mobiletest_http_requests_total", "Requests that ended", ["route", "method", "code"])
_seconds = metrics.histogram("mobiletest_http_request_duration_seconds", "Duration of requests", ["route", "method"])
_in_flight = metrics.gauge("mobiletest_http_in_flight", "Requests under way")

UNKNOWN_ROUTE = "unknown"
CLIENT_GONE = 499
_VERBS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class HttpMetrics:
    """Counts requests. Its labels are bounded: templates, known verbs, status codes."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._histograms: dict[tuple[str, str], Histogram] = {}
        _in_flight.set_function(lambda: self.in_flight)

    def observe(self, route: str, verb: str, code: int, seconds: float) -> None:
        """One request has ended."""
        method = verb if verb in _VERBS else "other"
        counter = self._counters.get((route, method, code))
        if counter is None:
            counter = self._counters[route, method, code] = _requests.labels(route, method, str(code))
        counter.inc()
        histogram = self._histograms.get((route, method))
        if histogram is None:
            histogram = self._histograms[route, method] = _seconds.labels(route, method)
        histogram.observe(seconds)
