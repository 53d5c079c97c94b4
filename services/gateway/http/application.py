"""The one way that every request takes: route, admission, handler, answer."""

import asyncio
import re
from secrets import token_hex
from time import perf_counter

from aiohttp.web import BaseRequest, StreamResponse

from services.gateway.http import errors
from services.gateway.http.authentication import Authentication
from services.gateway.http.http_metrics import CLIENT_GONE, UNKNOWN_ROUTE, HttpMetrics
from services.gateway.http.request_context import Endpoint
from services.gateway.http.responses import FIXED_HEADERS, error_response, map_error
from services.gateway.http.router import Match, Router

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
_REQUEST_ID_HEADER = "X-Request-ID"


class Dispatcher:
    """Answers every request, whatever happens."""

    def __init__(self, router: Router[Endpoint], admission: Authentication, meter: HttpMetrics) -> None:
        self._router = router
        self._admission = admission
        self._meter = meter

    async def __call__(self, request: BaseRequest) -> StreamResponse:
        """Never raises but for a client that has gone."""
        since = perf_counter()
        headers = {**FIXED_HEADERS, _REQUEST_ID_HEADER: request_id(request)}
        found = self._router.find(request.method, request.rel_url.raw_path)
        route = found.endpoint.template if isinstance(found, Match) else UNKNOWN_ROUTE
        code = CLIENT_GONE
        self._meter.in_flight += 1
        try:
            if not isinstance(found, Match):
                raise (
                    errors.method_not_allowed(request.method, found.allowed) if found.allowed else errors.unknown_path()
                )
            exchange = await self._admission.admit(request, found.endpoint, found.path, headers)
            response = await found.endpoint.handle(exchange)
            code = response.status
        except asyncio.CancelledError:
            raise
        except Exception as error:
            response = error_response(map_error(error, headers[_REQUEST_ID_HEADER]), headers)
            code = response.status
        finally:
            self._meter.in_flight -= 1
            self._meter.observe(route, request.method, code, perf_counter() - since)
        return response


def request_id(request: BaseRequest) -> str:
    """The client's own when it is sane, else a new one."""
    given = request.headers.get(_REQUEST_ID_HEADER)
    return given if given is not None and _REQUEST_ID.fullmatch(given) else token_hex(16)
