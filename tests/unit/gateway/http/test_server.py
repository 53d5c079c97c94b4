"""Responses to requests that no middleware has answered."""

import inspect
from typing import Any, cast
from unittest.mock import Mock

import orjson
import pytest
from aiohttp import web
from aiohttp.http import StreamWriter
from aiohttp.http_exceptions import BadHttpMessage, BadHttpMethod, LineTooLong
from aiohttp.test_utils import make_mocked_request

from services.gateway.http.server import MAX_HEADER_BYTES, MAX_URL_BYTES, _Connection


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BadHttpMessage("x"), 400, "HTTP_MALFORMED"),
        (BadHttpMethod(error="Bad: b'\\x16\\x03 x'"), 400, "HTTP_MALFORMED"),
        (BadHttpMethod(error="Bad:\n\n  b'BREW /pot HTTP/1.1'\n   ^"), 501, "METHOD_UNKNOWN"),
        (BadHttpMessage("Too many headers received"), 431, "HEADER_TOO_LARGE"),
        (LineTooLong(b"x", MAX_HEADER_BYTES), 431, "HEADER_TOO_LARGE"),
        (LineTooLong(b"/", MAX_URL_BYTES), 414, "URL_TOO_LONG"),
        (RuntimeError("secret"), 500, "INTERNAL"),
        (None, 504, "DEADLINE_EXCEEDED"),
    ],
)
def test_only_requests_that_cannot_be_parsed_are_the_fault_of_the_client(
    error: Exception | None, status: int, code: str
) -> None:
    request = make_mocked_request("GET", "/", writer=Mock(output_size=0))
    response = cast(web.Response, _Connection.handle_error(cast(Any, None), request, exc=error))
    body = orjson.loads(cast(bytes, response.body))
    assert (response.status, body["code"]) == (status, code)
    assert "secret" not in body["detail"]
    assert (response.headers["X-Request-ID"] in body["detail"]) == (status == 500)


async def test_private_parts_of_aiohttp_are_still_there() -> None:
    """Those that the server uses or overrides: an upgrade may change them."""
    made = web.Server(lambda _: web.Response())  # type: ignore[arg-type,return-value]
    assert {"_connections", "_loop"} <= vars(made).keys()
    assert {
        "_current_request",
        "_drain_helper",
        "_force_close",
        "_handle_request",
        "_lingering_time",
        "_loop",
        "_messages",
        "_paused",
        "_request_in_progress",
    } <= set(dir(web.RequestHandler))
    assert "self._handle_request(request" in inspect.getsource(web.RequestHandler.start)
    assert "await self._make_server()" in inspect.getsource(web.BaseRunner.setup)
    assert "await protocol._drain_helper()" in inspect.getsource(StreamWriter.drain)
