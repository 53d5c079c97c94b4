"""Entity tags, and what clients accept."""

import asyncio
import gzip
from collections.abc import Mapping

import pytest
from aiohttp import hdrs, web
from aiohttp.test_utils import make_mocked_request
from mobiletest.catalog.v1 import apps_pb2

from services.gateway.http.representations import (
    MAX_INLINE_BYTES,
    FixedDocument,
    FixedResponse,
    entity_tag,
    expected_revisions,
    is_current,
    negotiation,
    takes_gzip,
)

JSON = {"Content-Type": "application/json"}


def test_tag_begins_with_the_revision_and_changes_with_the_bytes() -> None:
    app = apps_pb2.App(revision=7)
    first, second = entity_tag(b"a", app), entity_tag(b"b", app)
    assert first.startswith('"7-')
    assert first != second
    assert entity_tag(b"a", app) == first
    assert expected_revisions(first) == [7]


@pytest.mark.parametrize(
    ("if_match", "revisions"),
    [
        ("*", []),
        ('"7-0123abcd"', [7]),
        ('"7-0123abcd-gzip"', [7]),
        ('"7-0123abcd" , "8-0123abcd"', [7, 8]),
        ('W/"7-0123abcd"', [-1]),
        ('"7"', [-1]),
        ("7-0123abcd", [-1]),
        ('""', [-1]),
        ("", [-1]),
        ('"99999999999999999999-0123abcd"', [-1]),
    ],
)
def test_revisions_that_a_change_expects(if_match: str, revisions: list[int]) -> None:
    assert expected_revisions(if_match) == revisions


@pytest.mark.parametrize(
    ("if_none_match", "current"),
    [
        ('"7-0123abcd"', True),
        ('W/"7-0123abcd"', True),
        ('"7-0123abcd-gzip"', True),
        ('"1-x", "7-0123abcd"', True),
        ("*", True),
        ('"7-ffffffff"', False),
        ("7-0123abcd", False),
        ("", False),
    ],
)
def test_representations_that_a_client_has(if_none_match: str, current: bool) -> None:
    assert is_current('"7-0123abcd"', if_none_match) == current
    assert is_current('"7-0123abcd-gzip"', if_none_match) == current
    assert not is_current(None, if_none_match)


@pytest.mark.parametrize(
    ("accept_encoding", "gzip"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5, br", True),
        ("x-gzip", True),
        ("*", True),
        ("br, *;q=0.1", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000, *", False),
        ("*;q=0", False),
        ("identity", False),
        ("", False),
    ],
)
def test_clients_that_take_gzip(accept_encoding: str, gzip: bool) -> None:
    assert takes_gzip(accept_encoding) == gzip


async def test_long_responses_of_an_organisation_are_all_compressed() -> None:
    """However many there are at once: what has been made is refused no more."""

    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response(body=b"a" * (MAX_INLINE_BYTES + 1))

    request = make_mocked_request("GET", "/", headers={hdrs.ACCEPT_ENCODING: "gzip"})
    negotiate = negotiation()
    responses = await asyncio.gather(*(negotiate(request, handler) for _ in range(1_100)))
    assert {response.headers[hdrs.CONTENT_ENCODING] for response in responses} == {"gzip"}


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
