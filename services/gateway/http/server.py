"""The listening side: aiohttp's server with hardened connections, and JSON for what is not HTTP."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod, HttpProcessingError, LineTooLong

from services.chassis import logs
from services.gateway.http.json_responses import HttpError, error_response, map_error
from services.gateway.http.middlewares import FIXED_HEADERS, REQUEST_ID_HEADER, map_http_exception
from services.gateway.settings import Settings

MAX_URL_BYTES = 8190
MAX_HEADER_BYTES = 8192
"""Of one line. It differs from the limit of the URL, so that errors of the parser tell which one was exceeded."""
MAX_HEADERS = 128
LINGER_SECONDS = 30.0
"""How long the rest of a refused body is read: a client that only writes would get a reset instead of the answer."""

_REQUEST_LINE = re.compile(r"b['\"]([A-Za-z0-9!#$%&*+.^_`|~-]{1,32}) ", re.ASCII)

log = logs.get(__name__)


@asynccontextmanager
async def serve(app: web.Application, settings: Settings) -> AsyncIterator[str]:
    """Serve inside the block; gives the bound address ("127.0.0.1:8080"). Leaving it lets running requests finish."""
    runner = _Runner(app, settings)
    await runner.setup()
    try:
        host, _, port = settings.http_listen.rpartition(":")
        await web.TCPSite(runner, host.strip("[]"), int(port), backlog=1024).start()
        bound = runner.addresses[0]
        log.info("http_listening", address=f"{bound[0]}:{bound[1]}")
        yield f"{host}:{bound[1]}"
    finally:
        await runner.cleanup()


class _Connection(web.RequestHandler):
    """One connection. It is closed after a request that is not HTTP, and when the client does not read a response
    within `answer_seconds`; streams have limits of their own.
    """

    def __init__(self, manager: web.Server, *, answer_seconds: float, **options: Any) -> None:
        super().__init__(manager, **options)
        self._answer_seconds = answer_seconds
        self._is_finishing = False

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the rest of the response; True with it when the client has gone."""
        if isinstance(resp, web.HTTPException):
            resp = _standalone_response(map_http_exception(resp), str(uuid4()))
        if resp.status == HTTPStatus.REQUEST_TIMEOUT:
            self._lingering_time = 0.0  # the rest of the body has been waited for
        self._is_finishing = True
        try:
            return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            log.warning("answer_not_taken", seconds=self._answer_seconds)
            if self.transport is not None:
                self.transport.abort()
            return resp, True
        finally:
            self._is_finishing = False

    async def _drain_helper(self) -> None:
        """Wait until the client has read enough. A timer for each response would cost more than what it guards."""
        if self._paused and self._is_finishing:
            async with asyncio.timeout(self._answer_seconds):
                await super()._drain_helper()
        else:
            await super()._drain_helper()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """For requests that cannot be parsed, and for errors outside the middleware that answers all others."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun")
        request_id = str(uuid4())
        if not isinstance(exc, HttpProcessingError):
            return _standalone_response(
                map_error(exc if isinstance(exc, Exception) else TimeoutError(), request_id), request_id
            )
        log.debug("request_unparsable", error=repr(exc))
        return _standalone_response(_map_parser_error(exc), request_id)


def _map_parser_error(error: HttpProcessingError) -> HttpError:
    """aiohttp tells kinds of requests that it cannot parse apart only by the limit or the text of its error."""
    if isinstance(error, LineTooLong) and error.args[1] == MAX_URL_BYTES:
        return HttpError(414, f"The URL is longer than {MAX_URL_BYTES} bytes", "URL_TOO_LONG", close=True)
    if isinstance(error, LineTooLong):
        message = f"A line of the header is longer than {MAX_HEADER_BYTES} bytes"
        return HttpError(431, message, "HEADER_TOO_LARGE", close=True)
    if "Too many headers" in error.message:
        return HttpError(431, f"There are more than {MAX_HEADERS} headers", "HEADER_TOO_LARGE", close=True)
    if isinstance(error, BadHttpMethod) and (line := _REQUEST_LINE.search(error.message)):
        return HttpError(501, f"The method {line[1]} is not supported", "METHOD_UNKNOWN", close=True)
    return HttpError(400, "This is not a valid HTTP request", "HTTP_MALFORMED", close=True)


def _standalone_response(error: HttpError, request_id: str) -> web.Response:
    """The response to a request that no middleware has seen."""
    response = error_response(error)
    response.headers.update({**FIXED_HEADERS, REQUEST_ID_HEADER: request_id})
    return response


class _Runner(web.AppRunner):
    """Runs an application on a `_Server`."""

    def __init__(self, app: web.Application, settings: Settings) -> None:
        super().__init__(app, shutdown_timeout=settings.shutdown_grace_seconds)
        self._settings = settings

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._settings)


class _Server(web.Server):
    """Makes hardened connections, up to a limit.

    For one beyond it the oldest idle one is closed, so that clients without a request keep no others out; without an
    idle one, it is closed itself.
    """

    def __init__(self, made: web.Server, settings: Settings) -> None:
        super().__init__(made.request_handler, request_factory=made.request_factory, handler_cancellation=True)
        self._settings = settings

    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self,
            loop=self._loop,
            answer_seconds=self._settings.max_request_timeout_seconds,
            keepalive_timeout=self._settings.keepalive_timeout_seconds,
            max_line_size=MAX_URL_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            max_headers=MAX_HEADERS,
            lingering_time=LINGER_SECONDS,
            auto_decompress=False,
            access_log=None,
        )

    def connection_made(self, handler: web.RequestHandler, transport: Any) -> None:
        super().connection_made(handler, transport)
        if len(self._connections) <= self._settings.max_connections:
            return
        idle = next((each for each in self._connections if _is_idle(each)), handler)
        if idle is not handler:
            idle.force_close()
        else:
            log.warning("connection_refused", connections=len(self._connections))
            transport.abort()


def _is_idle(connection: web.RequestHandler) -> bool:
    """Whether it has no request that is being answered: none at all, half a header, or the rest of a refused body."""
    return not (connection._request_in_progress or connection._messages or connection._force_close)
