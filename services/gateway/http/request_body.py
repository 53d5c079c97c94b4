"""Reads request bodies: bounded in size and in time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import HttpVersion11, web

from services.gateway.http import errors

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Bytes of a whole body, and seconds for it to arrive."""

    max_bytes: int
    seconds: float


async def read_json(request: web.BaseRequest, limits: BodyLimits) -> bytes:
    """The body of a request that may have JSON, empty without one; HttpError 400, 408, 413 or 415."""
    if not request.body_exists:
        return b""
    check_encoding(request)
    check_length(request, limits.max_bytes)
    if not _is_json(request.content_type) and request.content_length != 0:
        raise errors.unsupported_content_type(JSON_TYPE)
    await send_100_continue(request)
    try:
        async with asyncio.timeout(limits.seconds):
            return b"".join([chunk async for chunk in iter_limited(request, limits.max_bytes)])
    except TimeoutError:
        raise errors.body_too_slow(limits.seconds) from None


def check_encoding(request: web.BaseRequest) -> None:
    """Reject a compressed body: its size does not bound what it expands to."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise errors.unsupported_encoding()


def check_length(request: web.BaseRequest, max_bytes: int) -> None:
    """Reject a body that is declared too large before reading it."""
    if request.content_length is not None and request.content_length > max_bytes:
        raise errors.body_too_large(max_bytes)


async def send_100_continue(request: web.BaseRequest) -> None:
    """Let a client that sent Expect: 100-continue send its body: the headers are acceptable."""
    if request.version >= HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the final response has not begun


async def iter_limited(request: web.BaseRequest, max_bytes: int) -> AsyncIterator[bytes]:
    """The chunks of the body; HttpError when it has more than `max_bytes` or breaks off."""
    size = 0
    try:
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > max_bytes:
                raise errors.body_too_large(max_bytes)
            yield chunk
    except web.RequestPayloadError:
        raise errors.broken_body() from None


def _is_json(content_type: str) -> bool:
    """A missing content type, for which aiohttp says octet-stream, counts as JSON."""
    return content_type in (JSON_TYPE, "application/octet-stream") or content_type.endswith("+json")
