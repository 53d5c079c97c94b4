"""RPCs that stream messages: server-sent events.

A message has a `sequence`, which becomes the id, and a oneof, whose case becomes the event's name and whose message
its data. A client that reconnects with Last-Event-ID goes on where it was.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import orjson
from aiohttp.web import StreamResponse
from google.protobuf.descriptor import Descriptor

from services.gateway.encoding.messages import encoder
from services.gateway.handlers.invocation import Invocation
from services.gateway.handlers.streams import abort_stream, write
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.channels import Rpc

HEARTBEAT = b": still here\n\n"
MAX_HEADERS_DELAY_SECONDS = 1.0
"""After this the client gets the headers, even when nothing has happened yet."""
_TYPE = "text/event-stream; charset=utf-8"


class ServerSentEventsHandler:
    """Passes events on until the stream ends, the client goes or the process stops (`closing`)."""

    def __init__(
        self, invocation: Invocation, rpc: Rpc, message: Descriptor, *, heartbeat_seconds: float, closing: asyncio.Event
    ) -> None:
        self._invocation = invocation
        self._rpc = rpc
        self._encode = event_encoder(message)
        self._heartbeat_seconds = heartbeat_seconds
        self._closing = closing

    async def __call__(self, exchange: RequestContext) -> StreamResponse:
        decoded = await self._invocation.decode(exchange)
        seconds = self._invocation.stream_seconds(exchange)
        with self._invocation.calling(decoded, exchange, seconds):
            call = self._rpc(decoded.message, timeout=seconds)
            try:
                async with aclosing(self._texts(call)) as texts:
                    return await self._pass_on(texts, exchange)
            finally:
                call.cancel()

    async def _pass_on(self, texts: AsyncGenerator[bytes, None], exchange: RequestContext) -> StreamResponse:
        """The headers go out with the first text, so that an error before it is an ordinary error answer."""
        response = StreamResponse(headers={**exchange.headers, "Content-Type": _TYPE, "X-Accel-Buffering": "no"})
        try:
            async for text in texts:
                if not response.prepared:
                    await response.prepare(exchange.http)
                await write(response, text, self._heartbeat_seconds)
            if not response.prepared:
                await response.prepare(exchange.http)
            await response.write_eof()
        except Exception as error:
            if not response.prepared:
                raise
            abort_stream(exchange, error)
        return response

    async def _texts(self, call: Any) -> AsyncGenerator[bytes, None]:
        """Events as they come, and heartbeats while none do."""
        messages = aiter(call)
        closing = asyncio.ensure_future(self._closing.wait())
        coming = asyncio.ensure_future(anext(messages))
        patience = min(MAX_HEADERS_DELAY_SECONDS, self._heartbeat_seconds)
        try:
            while True:
                await asyncio.wait({coming, closing}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                patience = self._heartbeat_seconds
                if coming.done():
                    yield self._encode(coming.result())
                    coming = asyncio.ensure_future(anext(messages))
                elif closing.done():
                    return
                else:
                    yield HEARTBEAT
        except StopAsyncIteration:
            return
        finally:
            coming.cancel()
            closing.cancel()


def event_encoder(message: Descriptor) -> Callable[[Any], bytes]:
    """Messages of this type as the text of an event; TypeError when they have no sequence or not one oneof."""
    if "sequence" not in message.fields_by_name or len(message.oneofs) != 1:
        raise TypeError(f"{message.full_name} cannot be shown as server-sent events")
    oneof = message.oneofs[0]
    encoders = {field.name: encoder(field.message_type) for field in oneof.fields if field.message_type is not None}

    def encode(event: Any) -> bytes:
        case = event.WhichOneof(oneof.name)
        if case not in encoders:
            return b""
        content = orjson.dumps(encoders[case](getattr(event, case)))
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, case.encode(), content)

    return encode
