"""What streams have in common: a bounded wait for a slow reader, and a visible break when they fail half-way."""

import asyncio
from typing import Any

from aiohttp.web import StreamResponse

from services.chassis import logs
from services.gateway.handlers.invocation import Invocation
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.channels import Rpc

log = logs.get(__name__)


async def write(response: StreamResponse, chunk: bytes, seconds: float) -> None:
    """Send a chunk; TimeoutError when the client does not take it within `seconds`."""
    async with asyncio.timeout(seconds):
        await response.write(chunk)


def abort_stream(exchange: RequestContext, error: Exception) -> None:
    """Cut the connection, so that nobody takes half an answer for a whole one."""
    log.warning("stream_broken", error=repr(error), request_id=exchange.caller.request_id)
    transport = exchange.http.transport
    if transport is not None:
        transport.abort()


_HEADERS = {
    "http-content-length": "Content-Length",
    "http-etag": "ETag",
    "http-content-disposition": "Content-Disposition",
}

SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
"""What is downloaded is somebody else's, such as the source of a page under test: it runs nothing where we serve it."""


class DownloadHandler:
    """Sends the first chunk with the headers; an error before it is an ordinary error answer."""

    def __init__(self, invocation: Invocation, rpc: Rpc, idle_seconds: float) -> None:
        self._invocation = invocation
        self._rpc = rpc
        self._idle_seconds = idle_seconds

    async def __call__(self, exchange: RequestContext) -> StreamResponse:
        decoded = await self._invocation.decode(exchange)
        seconds = self._invocation.stream_seconds(exchange)
        with self._invocation.calling(decoded, exchange, seconds):
            call = self._rpc(decoded.message, timeout=seconds)
            try:
                chunks = aiter(call)
                first = await anext(chunks, None)
                response = StreamResponse(headers=await _headers(call, first, exchange))
                await response.prepare(exchange.http)
                await self._send(first, chunks, response, exchange)
            finally:
                call.cancel()
        return response

    async def _send(self, first: Any, chunks: Any, response: StreamResponse, exchange: RequestContext) -> None:
        try:
            if first is not None:
                await write(response, first.data, self._idle_seconds)
            async for chunk in chunks:
                await write(response, chunk.data, self._idle_seconds)
            await response.write_eof()
        except Exception as error:
            abort_stream(exchange, error)


async def _headers(call: Any, first: Any, exchange: RequestContext) -> dict[str, str]:
    named = {_HEADERS[key]: value for key, value in await call.initial_metadata() if key in _HEADERS}
    content_type = first.content_type if first is not None else ""
    return {**exchange.headers, **SANDBOX, **named, "Content-Type": content_type or "application/octet-stream"}
