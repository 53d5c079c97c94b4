"""RPCs that stream bytes (google.api.HttpBody): downloads, chunk by chunk."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping

from aiohttp import hdrs, web
from mobiletest.types.v1.byte_range_pb2 import ByteRange

from services.chassis import context, logs
from services.chassis.errors import Unavailable
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.representations import REVALIDATE, is_current, not_modified
from services.gateway.http.request_context import REQUEST_CONTEXT, REQUEST_ID
from services.gateway.upstream.downloads import Download, DownloadCalls

_HEADERS = {
    "http-content-length": "Content-Length",
    "http-content-range": "Content-Range",
    "http-etag": "ETag",
    "http-content-disposition": "Content-Disposition",
    "http-cache-control": "Cache-Control",
}

_RANGE = re.compile(r"bytes=(?=.*[0-9])([0-9]{0,30})-([0-9]{0,30})", re.ASCII | re.IGNORECASE)
MAX_POSITION = 2**62
MAX_TAG_LENGTH = 1000

# Downloads are untrusted, such as the source of a page under test: they run no scripts in our origin.
SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
# What a browser may show; it saves everything else, such as a page or XML, whoever links to it.
SHOWN = frozenset(("image/jpeg", "image/png", "image/webp", "text/plain", "video/mp4"))

log = logs.get(__name__)


class DownloadHandler:
    """Sends the first chunk with the headers, so that an error before it is an ordinary error response."""

    def __init__(
        self, reader: RequestReader, calls: DownloadCalls, open_streams: OpenStreams, *, idle_seconds: float
    ) -> None:
        self._reader = reader
        self._calls = calls
        self._open_streams = open_streams
        self._idle_seconds = idle_seconds

    async def handle(self, request: web.Request) -> web.StreamResponse:
        request_context = request[REQUEST_CONTEXT]
        decoded = await self._reader.read(request)
        timeout = self._reader.stream_timeout(request_context)
        with self._reader.call_scope(request_context, timeout):
            if request.method == hdrs.METH_GET and (asked := parse_range(request.headers)) is not None:
                decoded.message.range.CopyFrom(asked)  # type: ignore[attr-defined]
            async with self._calls.open(decoded.message, timeout) as download:
                headers = _headers(download)
                if (known := request.headers.get(hdrs.IF_NONE_MATCH)) and is_current(headers.get("ETag"), known):
                    return not_modified(headers)
                response = web.StreamResponse(status=206 if "Content-Range" in headers else 200, headers=headers)
                await response.prepare(request)
                if request.method != hdrs.METH_HEAD:
                    await self._send(download.chunks, response, request)
        return response

    async def _send(self, chunks: AsyncIterator[bytes], response: web.StreamResponse, request: web.Request) -> None:
        try:
            async with (
                self._open_streams.while_valid(request[REQUEST_CONTEXT]),
                asyncio.timeout(context.time_remaining()),
            ):
                sent, size = 0, response.content_length
                async for chunk in chunks:
                    await write(response, chunk, self._idle_seconds)
                    sent += len(chunk)
                if size not in (None, sent):  # or the client waits for the rest until the idle connection is closed
                    raise Unavailable(f"The file has {sent} bytes instead of {size}")
                await response.write_eof()
        except Exception as error:
            abort_stream(request, error)


async def write(response: web.StreamResponse, chunk: bytes, timeout: float) -> None:
    """Send a chunk.

    Raises:
        TimeoutError: the client does not read it within `timeout` seconds.
    """
    async with asyncio.timeout(timeout):
        await response.write(chunk)


def abort_stream(request: web.Request, error: Exception) -> None:
    """Cut the connection, so that no client takes half a response for a whole one."""
    log.warning("stream_broken", error=repr(error), request_id=request[REQUEST_ID])
    if request.transport is not None:
        request.transport.abort()


def _headers(download: Download) -> dict[str, str]:
    named = {_HEADERS[key]: value for key, value in download.metadata.items() if key in _HEADERS}
    if "Content-Length" in named:
        named["Accept-Ranges"] = "bytes"
    if "Cache-Control" in named:
        # It is used again without a question: by who may have it, and not by the next person at this browser.
        named["Vary"] = "Authorization, Cookie"
    if "ETag" in named:
        named.setdefault("Cache-Control", REVALIDATE)
    content_type = download.content_type or "application/octet-stream"
    if content_type.partition(";")[0].strip().lower() not in SHOWN:
        named.setdefault("Content-Disposition", "attachment")
    return {**SANDBOX, **named, "Content-Type": content_type}


def parse_range(headers: Mapping[str, str]) -> ByteRange | None:
    """The range that Range and If-Range ask for. Several ranges, and what is not valid, count as none."""
    match = _RANGE.fullmatch(headers.get(hdrs.RANGE, ""))
    if match is None:
        return None
    first, last = (min(int(text), MAX_POSITION) if text else None for text in match.groups())
    if first is None:
        asked = ByteRange(suffix_length=last)
    elif last is None or first <= last:
        asked = ByteRange(first=first, last=last)
    else:
        return None
    if (if_range := headers.get(hdrs.IF_RANGE)) is not None:
        asked.if_range = if_range[:MAX_TAG_LENGTH]
    return asked
