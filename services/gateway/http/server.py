"""The listening side: aiohttp's server with hardened connections, and JSON for what is not HTTP.

What is used of aiohttp's private parts is in this module, and a test compares it with aiohttp's code.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import IntEnum
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod, HttpProcessingError, LineTooLong

from services.chassis import logs
from services.chassis.unread_answers import UnreadAnswers
from services.gateway.http.fairness import PIECE_BYTES, PacedStarts, Pieces
from services.gateway.http.json_responses import HttpError, error_response, map_error
from services.gateway.http.middlewares import FIXED_HEADERS, REQUEST_ID_HEADER, map_http_exception
from services.gateway.http.representations import FixedResponse
from services.gateway.http.request_context import PUBLIC, organisation
from services.gateway.settings import Settings

MAX_URL_BYTES = 8190
# Of one line. It differs from the limit of the URL, so that errors of the parser tell which one was exceeded.
MAX_HEADER_BYTES = 8192
MAX_HEADERS = 128
# How long the rest of a refused body is read: a client that only writes would get a reset instead of the answer.
LINGER_SECONDS = 30.0

# What the kernel takes of a connection and cannot send yet: by default up to 4 MiB, of each client that does not read.
# What is under way to a client that reads is not limited, so that downloads from afar stay fast.
UNSENT_BYTES = 256 * 1024
# How long a client without a key may be served, or a client not read, when others wait for a place.
PATIENCE_SECONDS = 1.0

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


class Uselessness(IntEnum):
    """Which connections give way first. Idle are those without a request, with half a header, or with the rest of a
    body that was refused.
    """

    IDLE = 0
    ANONYMOUS = 1
    UNREAD = 2
    KNOWN_IDLE = 3


class Starts:
    """How many requests may begin in one turn of the event loop: of an organisation, enough for large batches, and of
    an address without a key.
    """

    def __init__(self) -> None:
        self.known, self.anonymous = PacedStarts(16), PacedStarts(4)


class _Connection(web.RequestHandler):
    """One connection. It is closed after a request that is not HTTP, and when the client does not read a response
    within `answer_seconds`, or others need what it holds; streams have limits of their own.
    """

    def __init__(
        self,
        manager: web.Server,
        *,
        answer_seconds: float,
        unread: UnreadAnswers,
        starts: Starts,
        **options: Any,
    ) -> None:
        super().__init__(manager, **options)
        self._answer_seconds = answer_seconds
        self._unread = unread
        self._starts = starts
        # Of the client, as far as it is known: that of a proxy before it.
        self._address = ""
        self._answer: _Answer | None = None
        self._began = self._paused_since = 0.0
        # Of the last request with a valid key.
        self._org_id = PUBLIC

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""

    async def _handle_request(self, request: web.BaseRequest, *arguments: Any) -> tuple[web.StreamResponse, bool]:
        self._began = self._loop.time()
        if self._org_id:
            await self._starts.known.wait(self._org_id)
        else:
            await self._starts.anonymous.wait(self._address)
        return await super()._handle_request(request, *arguments)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the rest of the response; True with it when the client has gone."""
        if isinstance(resp, web.HTTPException):
            resp = _standalone_response(map_http_exception(resp), str(uuid4()))
        if resp.status == HTTPStatus.REQUEST_TIMEOUT:
            self._lingering_time = 0.0  # the rest of the body has been waited for
        self._answer = _Answer(organisation(request), _in_pieces(resp), self._loop.time() + self._answer_seconds)
        self._org_id = self._answer.org_id or self._org_id
        try:
            return await super().finish_response(request, resp, start_time)
        except TimeoutError:
            log.warning("answer_not_taken", seconds=self._answer_seconds)
            self.abort()
            return resp, True
        finally:
            self._answer = None

    async def _drain_helper(self) -> None:
        """Wait until the client has read enough. A timer for each response would cost more than what it guards."""
        answer = self._answer
        if not self._paused or answer is None:
            await super()._drain_helper()
            return
        self._paused_since = self._loop.time()
        self._unread.hold(self, answer.org_id, answer.size)
        try:
            async with asyncio.timeout_at(answer.deadline):
                await super()._drain_helper()
        finally:
            self._paused_since = 0.0
            self._unread.release(self)

    def abort(self) -> None:
        """Close the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def give_way(self) -> None:
        """Close the connection, at once if a request is under way."""
        if self._request_in_progress:
            self.abort()
        else:
            self.force_close()

    def uselessness(self, now: float) -> Uselessness | None:
        """Why the connection may give way to another one; None while a client is served by it."""
        request = self._current_request
        is_known = bool(self._org_id or (request is not None and organisation(request)))
        if self._paused_since and now - self._paused_since >= PATIENCE_SECONDS:
            return Uselessness.UNREAD
        if not (self._request_in_progress or self._messages or self._force_close):
            return Uselessness.KNOWN_IDLE if is_known else Uselessness.IDLE
        if not is_known and now - self._began >= PATIENCE_SECONDS:
            return Uselessness.ANONYMOUS
        return None

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


@dataclass(frozen=True, slots=True)
class _Answer:
    """Of which organisation a response is, how much memory it takes, and until when (of the loop) it is waited for."""

    org_id: str
    size: int
    deadline: float


def _in_pieces(response: web.StreamResponse) -> int:
    """Let a long body be sent in pieces; gives how many bytes of memory it takes until it is sent."""
    if not isinstance(response, web.Response) or not isinstance(body := response.body, bytes):
        return 0
    if len(body) > PIECE_BYTES:
        response.body = Pieces(body)
    return min(len(body), 2 * PIECE_BYTES) if isinstance(response, FixedResponse) else len(body)


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

    For one beyond it the most useless one is closed, the oldest of several, so that clients without a request, without
    a key, or that do not read keep no others out; if all are of use, it is closed itself.
    """

    def __init__(self, made: web.Server, settings: Settings) -> None:
        super().__init__(made.request_handler, request_factory=made.request_factory, handler_cancellation=True)
        self._settings = settings
        self._unread = UnreadAnswers(settings.organisation_unread_bytes, settings.unread_bytes)
        self._starts = Starts()

    def __call__(self) -> web.RequestHandler:
        return _Connection(
            self,
            loop=self._loop,
            answer_seconds=self._settings.max_request_timeout_seconds,
            unread=self._unread,
            starts=self._starts,
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
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        if len(self._connections) <= self._settings.max_connections:
            return
        useless = self._most_useless(handler)
        if useless is None:
            log.warning("connection_refused", connections=len(self._connections))
            transport.abort()
        else:
            useless.give_way()

    def _most_useless(self, newest: web.RequestHandler) -> _Connection | None:
        now, least = self._loop.time(), len(Uselessness)
        connection: _Connection | None = None
        for each in self._connections:
            if not isinstance(each, _Connection) or each is newest:
                continue
            why = each.uselessness(now)
            if why is not None and why < least:
                connection, least = each, why
                if why is Uselessness.IDLE:
                    break
        return connection
