"""Reading request bodies: bounded in size and in time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiohttp import HttpVersion11
from aiohttp.web import BaseRequest, RequestPayloadError

from services.gateway.http import errors

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Bytes of a whole body, and seconds for it to arrive."""

    max_bytes: int
    seconds: float


async def read_json(request: BaseRequest, limits: BodyLimits) -> bytes:
    """The body of a request that may have JSON, empty without one; HttpError 400, 408, 413 or 415."""
    if not request.body_exists:
        return b""
    check_encoding(request)
    check_length(request, limits.max_bytes)
    if not _is_json(request.content_type) and request.content_length != 0:
        raise errors.unsupported_type(JSON)
    await send_100_continue(request)
    try:
        async with asyncio.timeout(limits.seconds):
            return b"".join([chunk async for chunk in iter_limited(request, limits.max_bytes)])
    except TimeoutError:
        raise errors.too_slow(limits.seconds) from None


def check_encoding(request: BaseRequest) -> None:
    """A compressed body is refused: its size says nothing about what it becomes."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise errors.unsupported_encoding()


def check_length(request: BaseRequest, max_bytes: int) -> None:
    """What says that it is too large is refused before it is read."""
    if request.content_length is not None and request.content_length > max_bytes:
        raise errors.too_large(max_bytes)


async def send_100_continue(request: BaseRequest) -> None:
    """Tell a client that waits for it (Expect: 100-continue) to send its body: what the head says is acceptable."""
    if request.version >= HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer has not begun


async def iter_limited(request: BaseRequest, max_bytes: int) -> AsyncIterator[bytes]:
    """The chunks of the body; HttpError when there are more bytes than `most_bytes`, or it breaks off."""
    size = 0
    try:
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > max_bytes:
                raise errors.too_large(max_bytes)
            yield chunk
    except RequestPayloadError:
        raise errors.broken_body() from None


def _is_json(content_type: str) -> bool:
    """What says nothing (aiohttp's octet-stream) is taken for JSON."""
    return content_type in (JSON, "application/octet-stream") or content_type.endswith("+json")
