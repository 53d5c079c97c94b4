"""Forms that cannot be uploaded: each is the client's error, never an internal one."""

import asyncio
from typing import Any

import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from services.chassis.clock import SystemClock
from services.chassis.context import Caller
from services.gateway.auth.key_cache import KeyCache
from services.gateway.contract.operations import all_operations, find_operation
from services.gateway.decoding.validation_errors import InvalidRequest
from services.gateway.handlers.concurrency import ConcurrencyLimit
from services.gateway.handlers.request_reader import RequestReader
from services.gateway.handlers.uploads import UploadHandler
from services.gateway.http.json_responses import HttpError
from services.gateway.http.open_streams import OpenStreams
from services.gateway.http.request_body import BodyMemory
from services.gateway.http.request_context import REQUEST_CONTEXT, RequestContext
from services.gateway.settings import Settings
from tests.fakes.gateway import TOKEN

APP_ID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
FILE = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.apk"\r\n\r\nbytes\r\n--b--\r\n'
SETTINGS = Settings(service_token=TOKEN, max_body_bytes=1000, max_upload_bytes=1000)  # type: ignore[arg-type]
OPEN_STREAMS = OpenStreams(KeyCache(), SystemClock())
READER = RequestReader(find_operation(all_operations(), "CreateBuild"), SETTINGS, BodyMemory())


def unused(*_: Any, **__: Any) -> Any:
    raise AssertionError("the form is wrong, so nothing is called")


async def upload(disposition: bytes, content: bytes = b"x") -> web.StreamResponse:
    """POST a form with this field before the file, to services that must not be called."""
    loop = asyncio.get_running_loop()
    body = StreamReader(BaseProtocol(loop), 2**16, loop=loop)
    body.feed_data(b"--b\r\nContent-Disposition: form-data; " + disposition + b"\r\n\r\n" + content + b"\r\n" + FILE)
    body.feed_eof()
    request = make_mocked_request(
        "POST",
        f"/api/v1/apps/{APP_ID}/builds",
        {"Content-Type": "multipart/form-data; boundary=b"},
        match_info={"app_id": APP_ID},
        payload=body,
    )
    request[REQUEST_CONTEXT] = RequestContext(Caller(org_id="org"), strict=True)
    handler = UploadHandler(
        READER,
        unused,
        OPEN_STREAMS,
        limit=ConcurrencyLimit("uploads"),
        json_handler=unused,
        render=unused,
        settings=SETTINGS,
    )
    return await handler.handle(request)


@pytest.mark.parametrize("disposition", [b"name*0=a'b", b"name=file; filename*0=a'b"])
async def test_broken_name_of_a_part(disposition: bytes) -> None:
    with pytest.raises(HttpError) as caught:
        await upload(disposition)
    assert (caught.value.status, caught.value.code) == (400, "BODY_BROKEN")


@pytest.mark.parametrize(
    ("disposition", "content", "loc", "type_"),
    [
        (b'name="\xff"', b"x", ("body", "?"), "extra_forbidden"),
        (b'name="\xff"', b"\xff", ("body", "?"), "string_unicode"),
        (b'name="version"', b"\xff", ("body", "version"), "string_unicode"),
        (b'name="metadata"', b"{", ("body", "metadata"), "json_invalid"),
        (b'name="metadata"', b"[]", ("body", "metadata"), "dict_type"),
        (b'name="metadata"', b'{"n": 1' + b"0" * 400 + b"}", ("body", "metadata"), "integer_too_large"),
        (b'name="apk"; filename="a.apk"', b"x", ("body", "apk"), "wrong_file_field"),
        (b'filename="a.apk"', b"x", ("body", ""), "wrong_file_field"),
        (b'name="metadata"', b'{"n": 1e999}', ("body", "metadata"), "finite_number"),
    ],
)
async def test_invalid_field(disposition: bytes, content: bytes, loc: tuple[str, ...], type_: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await upload(disposition, content)
    assert [(error.loc, error.type) for error in caught.value.field_errors] == [(loc, type_)]


async def test_field_that_is_sent_as_a_file_is_a_field() -> None:
    with pytest.raises(AssertionError, match="nothing is called"):
        await upload(b'name="metadata"; filename="build.json"', b'{"branch": "main"}')
