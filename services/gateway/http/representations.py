"""What a response is to a client that has an earlier one, or takes a compressed one: ETag, 304 and gzip.

Documents that are the same for everyone are made, compressed and tagged once.

The ETag of JSON is made from its bytes. That of a resource which can be edited begins with its revision, the part that
`If-Match` compares: "7-1b2c3d4e". Fields that other services add, such as statistics, change only the rest.
"""

import asyncio
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware
from google.protobuf.message import Message
from multidict import istr

from services.chassis.fair_turns import FairTurns
from services.gateway.http.request_context import organisation

# As RFC 9110 writes it; aiohttp's own spelling is Etag.
ETAG = istr("ETag")
MIN_COMPRESSED_BYTES = 1024
# Larger bodies are compressed in a thread: one MiB takes 10 ms.
MAX_INLINE_BYTES = 64 * 1024
GZIP_LEVEL = 1
# Clients may keep the response, but must ask before they use it again.
REVALIDATE = "private, no-cache"
# Pages hold a CSRF token, which their length cannot reveal to other sites: these send no SameSite=Strict cookie.
_COMPRESSED_TYPES = ("application/json", "application/xml", "text/html", "text/css", "text/javascript", "image/svg+xml")
_TAG = re.compile(r'(?:W/)?"([^"]*)"')
_STRONG_REVISION = re.compile(r'"([0-9]{1,18})-[0-9a-f]{8}(?:-gzip)?"', re.ASCII)
_GZIP_SUFFIX = "-gzip"
_GZIP_WINDOW = 31
_NO_REVISION = -1
_GZIP_LEVEL, _GZIP_WINDOW = 9, 31
# From the first request to the document and its headers, among them Content-Type; runs in a thread.
Make = Callable[[web.Request], tuple[bytes, Mapping[str, str]]]


def entity_tag(body: bytes, message: Message | None = None) -> str:
    """The strong ETag of a representation, of the message if it is one of a message."""
    first: int = getattr(message, "revision", None) or len(body)
    return f'"{first}-{zlib.crc32(body):08x}"'


def expected_revisions(if_match: str) -> list[int]:
    """The revisions that the header If-Match allows, none: any. A tag that is weak or not of ours matches nothing."""
    tags = [tag.strip() for tag in if_match.split(",")]
    if "*" in tags:
        return []
    return [int(match[1]) if (match := _STRONG_REVISION.fullmatch(tag)) else _NO_REVISION for tag in tags]


def is_current(etag: str | None, if_none_match: str) -> bool:
    """Whether a client with these representations has the one with this ETag, compressed or not."""
    if etag is None:
        return False
    known = (tag.removesuffix(_GZIP_SUFFIX) for tag in _TAG.findall(if_none_match))
    return if_none_match.strip() == "*" or etag.strip('"').removesuffix(_GZIP_SUFFIX) in known


def not_modified(headers: Mapping[str, str]) -> web.Response:
    """The response to a client that has the current representation, whose headers these are."""
    kept = {name: headers[name] for name in (ETAG, hdrs.VARY) if name in headers}
    return web.Response(status=304, headers={hdrs.CACHE_CONTROL: headers.get(hdrs.CACHE_CONTROL, REVALIDATE), **kept})


def is_compressible(body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether gzip makes the body of a response with these headers much shorter."""
    return (
        len(body) >= MIN_COMPRESSED_BYTES and headers.get(hdrs.CONTENT_TYPE, "").partition(";")[0] in _COMPRESSED_TYPES
    )


def negotiation() -> Middleware:
    """The middleware that answers 304 for what the client has, and compresses what is long for clients that take gzip,
    what is very long in turns of the organisations, which refuse nothing; streams stay as they are.
    """
    turns = FairTurns(2, per_org=1, waiting_per_org=None, waiting=None)

    @web.middleware
    async def negotiate(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if not isinstance(response, web.Response):
            return response
        body, headers = response.body, response.headers
        compress = False
        if hdrs.CONTENT_ENCODING not in headers and isinstance(body, bytes) and is_compressible(body, headers):
            headers[hdrs.VARY] = hdrs.ACCEPT_ENCODING
            compress = takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
        etag, known = headers.get(ETAG), request.headers.get(hdrs.IF_NONE_MATCH)
        if etag is not None and compress:
            headers[ETAG] = f'{etag[:-1]}{_GZIP_SUFFIX}"'
        if known is not None and request.method in ("GET", "HEAD") and is_current(etag, known):
            return not_modified(headers)
        if compress and isinstance(body, bytes):
            headers[hdrs.CONTENT_ENCODING] = "gzip"
            response.body = await _compress(body, request, turns)
        return response

    return negotiate


async def _compress(body: bytes, request: web.Request, turns: FairTurns) -> bytes:
    if len(body) <= MAX_INLINE_BYTES:
        return _gzip(body)
    async with turns.take(organisation(request)):
        return await asyncio.to_thread(_gzip, body)


@lru_cache(256)
def takes_gzip(accept_encoding: str) -> bool:
    """Whether the header Accept-Encoding allows gzip; the most specific coding decides, and q=0 forbids it."""
    allowed = {}
    for item in accept_encoding.lower().split(","):
        coding, *parameters = (part.strip() for part in item.split(";"))
        weight = next((text[2:] for text in parameters if text.startswith("q=")), "1")
        allowed[coding] = weight.strip("0.") != ""
    return allowed.get("gzip", allowed.get("x-gzip", allowed.get("*", False)))


def _gzip(body: bytes) -> bytes:
    return zlib.compress(body, GZIP_LEVEL, _GZIP_WINDOW)


class FixedResponse(web.Response):
    """A response whose body costs no memory of its own."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The document in both encodings. `compressed` is None if it is short, or of a type that is compressed already."""

    plain: bytes
    compressed: bytes | None
    etag: str
    headers: Mapping[str, str]


class FixedDocument:
    """Made when it is first requested, and kept."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._made: _Made | None = None
        self._making = asyncio.Lock()

    async def show(self, request: web.Request) -> web.StreamResponse:
        """The document, compressed for clients that take gzip."""
        made = self._made or await self._make_once(request)
        return _response(made, compress=takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, "")))

    async def _make_once(self, request: web.Request) -> _Made:
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._encode, request)
            return self._made

    def _encode(self, request: web.Request) -> _Made:
        plain, headers = self._make(request)
        if not is_compressible(plain, headers):
            return _Made(plain, None, entity_tag(plain), headers)
        compressed = zlib.compress(plain, _GZIP_LEVEL, _GZIP_WINDOW)
        return _Made(plain, compressed, entity_tag(plain), {**headers, hdrs.VARY: hdrs.ACCEPT_ENCODING})


def _response(made: _Made, *, compress: bool) -> FixedResponse:
    if not compress or made.compressed is None:
        return FixedResponse(body=made.plain, headers={**made.headers, ETAG: made.etag})
    headers = {**made.headers, ETAG: f'{made.etag[:-1]}-gzip"', hdrs.CONTENT_ENCODING: "gzip"}
    return FixedResponse(body=made.compressed, headers=headers)
