"""Uploads that are refused or cut: too large, too slow, or not wanted by the catalog."""

import asyncio
import http.client
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import product
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from mobiletest.catalog.v1 import builds_pb2

from services.chassis.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    Unavailable,
)
from services.gateway.app import RunningGateway
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client
from tests.integration.gateway.upload_forms import MEBIBYTE, form, keep_upload

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"max_upload_bytes": 8 * MEBIBYTE, "idle_timeout_seconds": 1}


async def test_an_upload_that_declares_too_many_bytes_is_a_413(client: Client, backends: FakeBackends) -> None:
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(file=b"x" * (9 * MEBIBYTE)))
    assert answer.status == 413
    assert backends.of("UploadBuild") == []


async def test_a_file_that_grows_too_large_is_a_413_and_cuts_the_upload(client: Client, backends: FakeBackends) -> None:
    async def content() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b"x" * MEBIBYTE

    received: list[Any] = []

    def receive(messages: Any) -> builds_pb2.Build:
        received.extend(messages)
        return builds_pb2.Build(id="b1")

    backends.on("UploadBuild", receive)
    with aiohttp.MultipartWriter("form-data") as data:
        data.append(content()).set_content_disposition("form-data", name="file", filename="shop.apk")
        answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["code"]) == (413, "BODY_TOO_LARGE")
    await eventually(lambda: "UploadBuild" in backends.cancelled or received)
    # A cut gRPC stream can look to the service like one that has ended, but it never has its last message.
    assert not any(message.HasField("end") for message in received)


REFUSALS = [
    (AlreadyExists("The app has this version", reason="VERSION_EXISTS"), 409, "VERSION_EXISTS"),
    (NotFound("App not found"), 404, "NOT_FOUND"),
    (InvalidArgument("The file is too large", reason="ARTIFACT_TOO_LARGE"), 422, "ARTIFACT_TOO_LARGE"),
    (Unavailable("No disk space", reason="SPOOL_FULL", retry_after=30.0), 503, "SPOOL_FULL"),
]


async def test_a_refusal_while_the_file_is_being_sent_is_always_passed_on(
    client: Client, backends: FakeBackends
) -> None:
    """The service ends the call at any point of the upload: after none, one, two ... of its messages."""
    path, content = f"/api/v1/apps/{uuid4()}/builds", b"x" * (2 * MEBIBYTE)
    for refuse_after, (error, status, code) in product(range(12), REFUSALS):

        async def receive(messages: AsyncIterator[Any], error: Exception = error, count: int = refuse_after) -> object:
            for _ in range(count):
                await anext(messages, None)
            raise error

        backends.on_messages("UploadBuild", receive)
        answer = await client("POST", path, data=form(("version", "1"), file=content))
        assert (answer.status, answer.json["code"], refuse_after) == (status, code, refuse_after)


async def test_a_client_that_only_writes_gets_the_answer_to_a_refused_upload(
    client: Client, backends: FakeBackends, gateway: RunningGateway
) -> None:
    """It does not read before it has sent the whole body, as http.client does: a reset would be all that it sees."""

    async def receive(_: AsyncIterator[Any]) -> object:
        raise AlreadyExists("The app has this version", reason="VERSION_EXISTS")

    def post() -> int:
        connection = http.client.HTTPConnection(gateway.http_address)
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        body = head + b"x" * (7 * MEBIBYTE) + b"\r\n--b--\r\n"
        headers = {"Content-Type": "multipart/form-data; boundary=b", "Authorization": f"Bearer {client.key}"}
        connection.request("POST", f"/api/v1/apps/{uuid4()}/builds", body, headers)
        with closing(connection), connection.getresponse() as response:
            return response.status

    backends.on_messages("UploadBuild", receive)
    assert await asyncio.to_thread(post) == 409


async def test_an_upload_of_a_few_bytes_a_second_is_a_408_and_cuts_the_upload(
    client: Client, backends: FakeBackends, gateway: RunningGateway
) -> None:
    """It would keep its place among the organisation's uploads, and its share of the spool."""
    keep_upload(backends)
    reader, writer = await asyncio.open_connection(*gateway.http_address.split(":"))
    writer.write(
        f"POST /api/v1/apps/{uuid4()}/builds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {client.key}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n"
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'.encode()
    )
    answering = asyncio.create_task(reader.read())
    while not (await asyncio.wait({answering}, timeout=0.05))[0]:
        writer.write(b"x")
    assert answering.result().startswith(b"HTTP/1.1 408")
    assert b"BODY_TOO_SLOW" in answering.result()
    assert b"slower than 16384 bytes per second" in answering.result()
    uploads = backends.requests("UploadBuild")
    assert not any(message.HasField("end") for messages in uploads for message in messages)
    writer.close()
