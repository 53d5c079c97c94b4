"""RPCs that stream messages, as server-sent events.

A message has a `sequence`, which becomes the event's id, and a oneof: its case becomes the event's name and its message
the event's data. A client that reconnects with Last-Event-ID continues where it was. A notice has neither sequence nor
id.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

import orjson
from aiohttp import hdrs, web
from google.protobuf.descriptor import Descriptor

from services.gateway.encoders import encoder
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.streams import abort_stream, write
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT, RequestContext
from services.gateway.upstream.event_feeds import EventFeeds
from services.gateway.upstream.rpcs import Rpc

# After this time the client gets the headers, even if no event has happened yet.
MAX_HEADERS_DELAY_SECONDS = 1.0
# How many clients of a process that stops come back in a second: each is told another time.
RETRIES_PER_SECOND = 500
_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}


class ServerSentEventsHandler:
    """Passes events on until the stream ends, the client goes, its key ends or the process stops (`closing`).

    Followers of the same thing share an upstream call. A client that does not read is cut off, and continues where it
    was when it comes back.
    """

    def __init__(
        self,
        reader: RequestReader,
        rpc: Rpc,
        message: Descriptor,
        open_streams: OpenStreams,
        *,
        limit: ConcurrencyLimit,
        heartbeat_seconds: float,
        stream_seconds: float,
        closing: asyncio.Event,
    ) -> None:
        self._reader = reader
        self._limit = limit
        self._feeds = EventFeeds(rpc, event_encoder(message), closing, timeout=stream_seconds)
        self._open_streams = open_streams
        self._heartbeat_seconds = heartbeat_seconds
        self._closing = closing

    async def handle(self, request: web.Request) -> web.StreamResponse:
        request_context = request[REQUEST_CONTEXT]
        decoded = await self._reader.read(request)
        timeout = self._reader.stream_timeout(request_context)
        writer = _Writer(request, self._heartbeat_seconds)
        with self._limit.enter(request_context), self._reader.call_scope(request_context, timeout):
            async with aclosing(self._texts(decoded.message, request_context, writer)) as texts:
                return await self._send(texts, writer, request, timeout)

    async def _send(
        self, texts: AsyncGenerator[bytes, None], writer: "_Writer", request: web.Request, timeout: float
    ) -> web.StreamResponse:
        """The headers go out with the first text, so that an error before it is an ordinary error response."""
        response = writer.response
        try:
            async with self._open_streams.while_valid(request[REQUEST_CONTEXT]), asyncio.timeout(timeout):
                async for text in texts:
                    if not response.prepared:
                        await response.prepare(request)
                    if request.method == hdrs.METH_HEAD:
                        break
                    await writer.write(text)
            if not response.prepared:
                await response.prepare(request)
            await response.write_eof()
        except Exception as error:
            if not response.prepared:
                raise
            abort_stream(request, error)
        return response

    async def _texts(
        self, message: Any, request_context: RequestContext, writer: "_Writer"
    ) -> AsyncGenerator[bytes, None]:
        """Events as they arrive, but for those that the writer sends at once, and heartbeats between them."""
        after: int = message.after_sequence
        max_wait = min(MAX_HEADERS_DELAY_SECONDS, self._heartbeat_seconds)
        ended = False
        while not ended:
            with self._feeds.join(message, after, request_context.caller) as feed:
                place = feed.place(after, writer.push)
                with suppress(LookupError):
                    while not ended:
                        if text := feed.take(place):
                            yield text
                        elif feed.ended:
                            ended = True
                        elif not await feed.wait(place, max_wait):
                            yield b": still here\n" + self._retry()
                        max_wait = self._heartbeat_seconds
                after = place.after
        if feed.error is not None:
            raise feed.error.with_traceback(None)
        if self._closing.is_set():
            yield self._retry()

    def _retry(self) -> bytes:
        """When to come back: the more follow, the longer it takes until all do."""
        spread = 1 + self._feeds.followers / RETRIES_PER_SECOND
        return b"retry: %d\n\n" % (1000 * (1 + spread * random.random()))  # noqa: S311


class _Writer:
    """Writes a response. A client that keeps up is sent what comes without a turn of its task, which costs most."""

    def __init__(self, request: web.Request, timeout: float) -> None:
        self.response = web.StreamResponse(headers=_HEADERS)
        self._request = request
        self._timeout = timeout
        self._has_begun = False

    async def write(self, text: bytes) -> None:
        """TimeoutError when the client does not read it in time."""
        await write(self.response, text, self._timeout)
        self._has_begun = True

    def push(self, text: bytes) -> bool:
        """Whether the text was sent: not before the headers, nor while the client has not read what came before."""
        transport = self._request.transport
        if not self._has_begun or transport is None or transport.is_closing() or transport.get_write_buffer_size():
            return False
        is_chunked = self.response.headers.get(hdrs.TRANSFER_ENCODING) == "chunked"
        transport.write(b"%x\r\n%b\r\n" % (len(text), text) if is_chunked else text)
        return True


def event_encoder(message: Descriptor) -> Callable[[Any], bytes]:
    """Encodes messages of this type as events.

    Raises:
        TypeError: unless they have a sequence and exactly one oneof.
    """
    if "sequence" not in message.fields_by_name or len(message.oneofs) != 1:
        raise TypeError(f"{message.full_name} cannot be sent as server-sent events: needs a sequence and one oneof")
    oneof = message.oneofs[0]
    encoders = {field.name: encoder(field.message_type) for field in oneof.fields if field.message_type is not None}

    def encode(event: Any) -> bytes:
        case = event.WhichOneof(oneof.name)
        if case not in encoders:
            return b""
        content = orjson.dumps(encoders[case](getattr(event, case)))
        id_ = b"id: %d\n" % event.sequence if event.sequence else b""
        return b"%sevent: %s\ndata: %s\n\n" % (id_, case.encode(), content)

    return encode
