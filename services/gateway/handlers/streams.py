"""What streams have in common: a bounded wait for a slow reader, and a visible break when they fail half-way."""

import asyncio

from aiohttp.web import StreamResponse

from services.chassis import logs
from services.gateway.serving.exchange import Exchange

log = logs.get(__name__)


async def write(response: StreamResponse, chunk: bytes, seconds: float) -> None:
    """Send a chunk; TimeoutError when the client does not take it within `seconds`."""
    async with asyncio.timeout(seconds):
        await response.write(chunk)


def break_off(exchange: Exchange, error: Exception) -> None:
    """Cut the connection, so that nobody takes half an answer for a whole one."""
    log.warning("stream_broken", error=repr(error), request_id=exchange.caller.request_id)
    transport = exchange.http.transport
    if transport is not None:
        transport.abort()
