"""The listening side: aiohttp's low-level server, with its limits set and its own errors as JSON."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from aiohttp.http_exceptions import LineTooLong
from aiohttp.web import BaseRequest, RequestHandler, Server, ServerRunner, StreamResponse, TCPSite

from services.chassis import logs
from services.gateway.http.errors import HttpError
from services.gateway.http.responses import FIXED_HEADERS, error_response, map_error

MAX_LINE_BYTES = 8190
MAX_HEADERS = 128
LINGER_SECONDS = 2.0

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """`keepalive_seconds` also ends a connection that sends nothing or half a header.

    `answer_seconds` is the time that a client has to take an answer; streams have limits of their own.
    """

    keepalive_seconds: float
    answer_seconds: float
    connections: int
    grace_seconds: float


class _Connection(RequestHandler):
    """One connection. What is no HTTP gets an answer in JSON and is closed; so is a client that does not read."""

    def __init__(self, manager: Server, *, answer_seconds: float, **options: Any) -> None:
        super().__init__(manager, **options)
        self._answer_seconds = answer_seconds

    async def finish_response(
        self, request: BaseRequest, resp: StreamResponse, start_time: float | None
    ) -> tuple[StreamResponse, bool]:
        """Send what is left of the answer; True with it when the client has gone."""
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            log.warning("answer_not_taken", seconds=self._answer_seconds)
            if self.transport is not None:
                self.transport.abort()
            return resp, True

    def handle_error(
        self, request: BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> StreamResponse:
        """Only for what does not reach our handler: requests that cannot be parsed."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun")
        log.debug("request_unparsable", error=repr(exc))
        request_id = str(uuid4())
        return error_response(map_error(_refusal(exc), request_id), {**FIXED_HEADERS, "X-Request-ID": request_id})


def _refusal(error: BaseException | None) -> HttpError:
    if isinstance(error, LineTooLong):
        return HttpError(
            431, f"A line of the header is longer than {MAX_LINE_BYTES} bytes", "HEADER_TOO_LARGE", close=True
        )
    return HttpError(400, "This is not a valid HTTP request", "HTTP_MALFORMED", close=True)


class _Server(Server):
    """Makes our connections, up to a number; what comes on top of it is closed at once."""

    def __init__(self, handler: Callable[[Any], Awaitable[StreamResponse]], limits: ServerLimits) -> None:
        super().__init__(handler, handler_cancellation=True)
        self._limits = limits

    def __call__(self) -> RequestHandler:
        return _Connection(
            self,
            loop=self._loop,
            answer_seconds=self._limits.answer_seconds,
            keepalive_timeout=self._limits.keepalive_seconds,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
            lingering_time=LINGER_SECONDS,
            auto_decompress=False,
            access_log=None,
        )

    def connection_made(self, handler: RequestHandler, transport: Any) -> None:
        super().connection_made(handler, transport)
        if len(self._connections) > self._limits.connections:
            log.warning("connection_refused", connections=len(self._connections))
            transport.abort()


@asynccontextmanager
async def serve(
    listen: str, handler: Callable[[BaseRequest], Awaitable[StreamResponse]], limits: ServerLimits
) -> AsyncIterator[str]:
    """Serve inside the block; gives the bound address ("127.0.0.1:8080"). Leaving it lets running requests finish."""
    runner = ServerRunner(_Server(handler, limits), shutdown_timeout=limits.grace_seconds)
    await runner.setup()
    try:
        host, _, port = listen.rpartition(":")
        await TCPSite(runner, host.strip("[]"), int(port), backlog=1024).start()
        bound = runner.addresses[0]
        log.info("http_listening", address=f"{bound[0]}:{bound[1]}")
        yield f"{host}:{bound[1]}"
    finally:
        await runner.cleanup()
