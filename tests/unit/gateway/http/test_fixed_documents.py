"""Documents that are the same for everyone."""

import asyncio
import gzip
from collections.abc import Mapping

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from services.gateway.http.fixed_documents import FixedDocument, FixedResponse

JSON = {"Content-Type": "application/json"}


class Source:
    """Makes a document, and counts how often."""

    def __init__(self, content: bytes, headers: Mapping[str, str] = JSON) -> None:
        self._content = content
        self._headers = headers
        self.made = 0

    def __call__(self, _: web.Request) -> tuple[bytes, Mapping[str, str]]:
        self.made += 1
        return self._content, self._headers


async def shown(document: FixedDocument, accept: str) -> FixedResponse:
    response = await document.show(make_mocked_request("GET", "/", headers={"Accept-Encoding": accept}))
    assert isinstance(response, FixedResponse)
    return response


async def test_a_document_is_made_once_for_each_encoding() -> None:
    content = b"[" + b"1," * 5_000 + b"1]"
    source = Source(content)
    document = FixedDocument(source)
    first, second, plain = await asyncio.gather(*(shown(document, accept) for accept in ("gzip", "gzip, br", "br")))
    assert source.made == 1
    assert first.body is second.body
    assert isinstance(first.body, bytes)
    assert (gzip.decompress(first.body), plain.body) == (content, content)
    assert (first.headers["Content-Encoding"], plain.headers.get("Content-Encoding")) == ("gzip", None)
    assert first.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'
    assert first.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"


async def test_what_is_short_or_compressed_already_stays_as_it_is() -> None:
    for source in (Source(b"{}"), Source(b"x" * 5_000, {"Content-Type": "font/woff2"})):
        response = await shown(FixedDocument(source), "gzip")
        assert "Content-Encoding" not in response.headers
