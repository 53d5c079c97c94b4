"""RPCs that stream bytes (google.api.HttpBody): downloads, chunk by chunk."""

from typing import Any

from aiohttp.web import StreamResponse

from services.gateway.handlers.invocation import Invocation
from services.gateway.handlers.streams import break_off, write
from services.gateway.serving.exchange import Exchange
from services.gateway.upstream.calls import Rpc

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

    async def __call__(self, exchange: Exchange) -> StreamResponse:
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

    async def _send(self, first: Any, chunks: Any, response: StreamResponse, exchange: Exchange) -> None:
        try:
            if first is not None:
                await write(response, first.data, self._idle_seconds)
            async for chunk in chunks:
                await write(response, chunk.data, self._idle_seconds)
            await response.write_eof()
        except Exception as error:
            break_off(exchange, error)


async def _headers(call: Any, first: Any, exchange: Exchange) -> dict[str, str]:
    named = {_HEADERS[key]: value for key, value in await call.initial_metadata() if key in _HEADERS}
    content_type = first.content_type if first is not None else ""
    return {**exchange.headers, **SANDBOX, **named, "Content-Type": content_type or "application/octet-stream"}
