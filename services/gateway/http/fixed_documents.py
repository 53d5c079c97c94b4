"""Documents that are the same for everyone: made, compressed and tagged once, for they need no key."""

import asyncio
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aiohttp import hdrs, web

from services.gateway.http.representations import ETAG, entity_tag, is_compressible, takes_gzip

_GZIP_LEVEL, _GZIP_WINDOW = 9, 31


class FixedResponse(web.Response):
    """A response whose body costs no memory of its own."""


# From the first request to the document and its headers, among them Content-Type; runs in a thread.
Make = Callable[[web.Request], tuple[bytes, Mapping[str, str]]]


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
