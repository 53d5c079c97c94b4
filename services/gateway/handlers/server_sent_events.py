"""RPCs that stream messages, as server-sent events.

A message has a `sequence`, which becomes the event's id, and a oneof: its case becomes the event's name and its message
the event's data. A client that reconnects with Last-Event-ID continues where it was.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson
from aiohttp import hdrs, web
from google.protobuf.descriptor import Descriptor

from services.gateway.encoding import encoder
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.streams import abort_stream, write
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_context import REQUEST_CONTEXT
from services.gateway.upstream.rpcs import Rpc

HEARTBEAT = b": still here\n\n"
MAX_HEADERS_DELAY_SECONDS = 1.0
"""After this time the client gets the headers, even if no event has happened yet."""
_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}


class ServerSentEventsHandler:
    """Passes events on until the stream ends, the client goes, its key ends or the process stops (`closing`)."""

    def __init__(
        self,
        reader: RequestReader,
        rpc: Rpc,
        message: Descriptor,
        open_streams: OpenStreams,
        *,
        limit: ConcurrencyLimit,
        heartbeat_seconds: float,
        closing: asyncio.Event,
    ) -> None:
        self._reader = reader
        self._limit = limit
        self._rpc = rpc
        self._open_streams = open_streams
        self._encode = event_encoder(message)
        self._heartbeat_seconds = heartbeat_seconds
        self._closing = closing

    async def handle(self, request: web.Request) -> web.StreamResponse:
        request_context = request[REQUEST_CONTEXT]
        decoded = await self._reader.read(request)
        timeout = self._reader.stream_timeout(request_context)
        with self._limit.enter(request_context), self._reader.call_scope(request_context, timeout):
            call = self._rpc(decoded.message, timeout=timeout)
            try:
                async with aclosing(self._texts(call)) as texts:
                    return await self._send(texts, request)
            finally:
                call.cancel()

    async def _send(self, texts: AsyncGenerator[bytes, None], request: web.Request) -> web.StreamResponse:
        """The headers go out with the first text, so that an error before it is an ordinary error response."""
        response = web.StreamResponse(headers=_HEADERS)
        try:
            async with self._open_streams.while_valid(request[REQUEST_CONTEXT]):
                async for text in texts:
                    if not response.prepared:
                        await response.prepare(request)
                    if request.method == hdrs.METH_HEAD:
                        break
                    await write(response, text, self._heartbeat_seconds)
            if not response.prepared:
                await response.prepare(request)
            await response.write_eof()
        except Exception as error:
            if not response.prepared:
                raise
            abort_stream(request, error)
        return response

    async def _texts(self, call: Any) -> AsyncGenerator[bytes, None]:
        """Events as they arrive, and heartbeats between them."""
        messages = aiter(call)
        closing = asyncio.ensure_future(self._closing.wait())
        pending = asyncio.ensure_future(anext(messages))
        max_wait = min(MAX_HEADERS_DELAY_SECONDS, self._heartbeat_seconds)
        try:
            while True:
                await asyncio.wait({pending, closing}, timeout=max_wait, return_when=asyncio.FIRST_COMPLETED)
                max_wait = self._heartbeat_seconds
                if pending.done():
                    yield self._encode(pending.result())
                    pending = asyncio.ensure_future(anext(messages))
                elif closing.done():
                    return
                else:
                    yield HEARTBEAT
        except StopAsyncIteration:
            return
        finally:
            pending.cancel()
            closing.cancel()


def event_encoder(message: Descriptor) -> Callable[[Any], bytes]:
    """Encodes messages of this type as events; TypeError unless they have a sequence and exactly one oneof."""
    if "sequence" not in message.fields_by_name or len(message.oneofs) != 1:
        raise TypeError(f"{message.full_name} cannot be sent as server-sent events: needs a sequence and one oneof")
    oneof = message.oneofs[0]
    encoders = {field.name: encoder(field.message_type) for field in oneof.fields if field.message_type is not None}

    def encode(event: Any) -> bytes:
        case = event.WhichOneof(oneof.name)
        if case not in encoders:
            return b""
        content = orjson.dumps(encoders[case](getattr(event, case)))
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, case.encode(), content)

    return encode
