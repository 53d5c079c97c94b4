"""The page of the API documentation, which everyone may read."""

import asyncio
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import hdrs, web

from services.gateway.dashboard.pages import render
from services.gateway.dashboard.reference.operations import DocumentReader
from services.gateway.dashboard.reference.prose import mark_names
from services.gateway.dashboard.reference.transcript import KEY, URL
from services.gateway.http.representations import ETAG, entity_tag, takes_gzip
from services.gateway.openapi.examples import load_examples

PATH = "/docs"
_GZIP_LEVEL, _GZIP_WINDOW = 9, 31
_CACHING: Mapping[str, str] = {hdrs.CACHE_CONTROL: "no-cache", hdrs.VARY: hdrs.ACCEPT_ENCODING}


@dataclass(frozen=True, slots=True)
class _Rendered:
    """The page in both encodings, so that the requests of anyone cost nothing, with its ETag and its headers."""

    plain: bytes
    compressed: bytes
    etag: str
    headers: Mapping[str, str]

    def response(self, *, compress: bool) -> web.Response:
        response = web.Response(body=self.compressed if compress else self.plain, headers=self.headers)
        response.headers[ETAG] = self.etag
        if compress:
            response.headers[ETAG] = f'{self.etag[:-1]}-gzip"'
            response.headers[hdrs.CONTENT_ENCODING] = "gzip"
        return response


class ReferencePage:
    """Renders the page when it is first asked for, which takes a tenth of a second, and keeps it."""

    def __init__(self, document: Callable[[], bytes], document_path: str) -> None:
        """`document()` is the OpenAPI document as it is served at `document_path`."""
        self._document = document
        self._document_path = document_path
        self._rendered: _Rendered | None = None

    async def show(self, request: web.Request) -> web.StreamResponse:
        """The page. It is the same for everyone, and therefore safe to compress."""
        if self._rendered is None:
            self._rendered = await asyncio.to_thread(self._render, request)
        return self._rendered.response(compress=takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, "")))

    def _render(self, request: web.Request) -> _Rendered:
        response = render(request, "reference.html", {**self._values(), "csrf": "", "path": PATH})
        plain = (response.text or "").encode()
        kept = {name: text for name, text in response.headers.items() if name != hdrs.CONTENT_LENGTH}
        compressed = zlib.compress(plain, _GZIP_LEVEL, _GZIP_WINDOW)
        return _Rendered(plain, compressed, entity_tag(plain), {**kept, **_CACHING})

    def _values(self) -> Mapping[str, Any]:
        document = orjson.loads(self._document())
        reader = DocumentReader(document, load_examples())
        return {
            "info": document["info"],
            "about": mark_names(document["info"]["description"]),
            "document_path": self._document_path,
            "groups": reader.groups(),
            "shared_parameters": reader.shared_parameters(),
            "response_headers": reader.response_headers(),
            "errors": reader.errors(),
            "error_fields": reader.error_fields(),
            "url_variable": URL,
            "key_variable": KEY,
        }
