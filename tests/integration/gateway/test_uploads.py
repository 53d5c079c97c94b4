"""Uploads: streamed to the catalog with the file at any position, and refused at any point."""

import asyncio
import hashlib
import http.client
from collections.abc import AsyncIterator
from contextlib import closing
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
    Violation,
)
from services.gateway.app import App
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEBIBYTE = 1024 * 1024


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"max_upload_bytes": 8 * MEBIBYTE, "idle_timeout_seconds": 1}


def keep_upload(backends: FakeBackends) -> None:
    backends.on("UploadBuild", lambda messages: builds_pb2.Build(id="b1", version=messages[-1].metadata.version))


def form(*fields: tuple[str, Any], file: bytes = b"content", file_at: int | None = None) -> aiohttp.FormData:
    data = aiohttp.FormData(quote_fields=False)
    position = len(fields) if file_at is None else file_at
    for index in range(len(fields) + 1):
        if index == position:
            data.add_field("file", file, filename="../dir/shop.apk", content_type="application/octet-stream")
        if index < len(fields):
            data.add_field(*fields[index])
    return data


@pytest.mark.parametrize("file_at", [0, 2, None])
async def test_an_upload_is_streamed_with_the_file_at_any_position(
    client: Client, backends: FakeBackends, file_at: int | None
) -> None:
    keep_upload(backends)
    app_id, content = str(uuid4()), bytes(range(256)) * 12_000
    fields = (("version", "1.2"), ("metadata", '{"branch": "main", "n": 1}'), ("package_name", "com.shop"), ("x", "y"))
    data = form(*fields, file=content, file_at=file_at)
    answer = await client("POST", f"/api/v1/apps/{app_id}/builds", data=data)
    assert answer.status == 201, answer.json
    assert answer.headers["Location"] == "/api/v1/apps/builds/b1"
    assert answer.headers["X-Ignored-Fields"] == "x"
    first, *chunks, last = backends.requests("UploadBuild")[0]
    assert (first.metadata.app_id, first.metadata.version) == (app_id, "" if file_at == 0 else "1.2")
    assert last.metadata.app_id == app_id
    assert dict(last.metadata.metadata) == {"branch": "main", "n": 1}
    assert (last.metadata.version, last.metadata.package_name) == ("1.2", "com.shop")
    assert (last.metadata.file_name, last.end.size) == ("shop.apk", len(content))
    received = b"".join(message.chunk for message in chunks)
    assert hashlib.sha256(received).digest() == hashlib.sha256(content).digest()


async def test_a_file_before_its_fields_is_streamed_to_the_catalog(client: Client, backends: FakeBackends) -> None:
    """The catalog gets chunks while the client has not yet sent the rest of the form."""
    keep_upload(backends)
    arrived = asyncio.Event()

    async def content() -> AsyncIterator[bytes]:
        yield b"x" * MEBIBYTE
        await arrived.wait()
        yield b"y"

    def chunks() -> int:
        return sum(len(message.chunk) for messages in backends.requests("UploadBuild") for message in messages)

    with aiohttp.MultipartWriter("form-data") as data:
        data.append(content()).set_content_disposition("form-data", name="file", filename="shop.apk")
        data.append("1.2").set_content_disposition("form-data", name="version")
        upload = asyncio.create_task(client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data))
        await eventually(lambda: chunks() > MEBIBYTE / 2)
        arrived.set()
        answer = await upload
    assert (answer.status, answer.json["version"]) == (201, "1.2")


async def test_a_file_alone_is_enough(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form())
    assert answer.status == 201
    assert not backends.requests("UploadBuild")[0][-1].metadata.HasField("version")


async def test_a_wrong_field_after_the_file_is_a_422_and_cuts_the_upload(
    client: Client, backends: FakeBackends
) -> None:
    keep_upload(backends)
    data = form(("version", "1"), ("metadata", "{"), file_at=1)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "metadata"])
    uploads = backends.requests("UploadBuild")
    assert not any(message.HasField("end") for messages in uploads for message in messages)


async def test_violations_found_by_the_catalog_name_fields_after_the_file(
    client: Client, backends: FakeBackends
) -> None:
    def refuse(_: object) -> object:
        violation = Violation("version", "no version can be read", "missing")
        raise InvalidArgument("invalid", reason="INVALID", violations=[violation])

    backends.on("UploadBuild", refuse)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(("version", "1"), file_at=0))
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "version"])


@pytest.mark.parametrize(
    ("fields", "loc", "type_"),
    [
        ((("version", ""),), ["body", "version"], "string_too_short"),
        ((("metadata", "{"),), ["body", "metadata"], "json_invalid"),
        ((("metadata", "[1]"),), ["body", "metadata"], "dict_type"),
    ],
)
async def test_an_invalid_field_before_the_file_is_a_422_without_an_upload(
    client: Client, backends: FakeBackends, fields: tuple[tuple[str, str], ...], loc: list[str], type_: str
) -> None:
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(*fields))
    assert (answer.status, answer.json["detail"][0]["loc"], answer.json["detail"][0]["type"]) == (422, loc, type_)
    assert backends.of("UploadBuild") == []


async def test_a_form_without_a_file_is_a_422(client: Client) -> None:
    data = aiohttp.FormData()
    data.add_field("version", "1", content_type="text/plain")
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "file"])


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


async def test_an_early_error_of_the_catalog_is_passed_on(client: Client, backends: FakeBackends) -> None:
    def refuse(_: object) -> object:
        raise AlreadyExists("The app has this version", reason="VERSION_EXISTS")

    backends.on("UploadBuild", refuse)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(("version", "1")))
    assert (answer.status, answer.json["code"]) == (409, "VERSION_EXISTS")


REFUSALS = [
    (AlreadyExists("The app has this version", reason="VERSION_EXISTS"), 409, "VERSION_EXISTS"),
    (NotFound("App not found"), 404, "NOT_FOUND"),
    (InvalidArgument("The file is too large", reason="ARTIFACT_TOO_LARGE"), 422, "ARTIFACT_TOO_LARGE"),
    (Unavailable("No disk space", reason="SPOOL_FULL", retry_after=30.0), 503, "SPOOL_FULL"),
]


@pytest.mark.parametrize(("error", "status", "code"), REFUSALS, ids=[code for _, _, code in REFUSALS])
async def test_a_refusal_while_the_file_is_being_sent_is_always_passed_on(
    client: Client, backends: FakeBackends, error: Exception, status: int, code: str
) -> None:
    """The service ends the call at any point of the upload: after none, one, two ... of its messages."""
    refuse_after = 0

    async def receive(messages: AsyncIterator[Any]) -> object:
        for _ in range(refuse_after):
            await anext(messages, None)
        raise error

    backends.on_messages("UploadBuild", receive)
    path, content = f"/api/v1/apps/{uuid4()}/builds", b"x" * (2 * MEBIBYTE)
    answers = set()
    for repeat in range(60):
        refuse_after = repeat % 12
        answer = await client("POST", path, data=form(("version", "1"), file=content))
        answers.add((answer.status, answer.json["code"]))
    assert answers == {(status, code)}


async def test_a_client_that_only_writes_gets_the_answer_to_a_refused_upload(
    client: Client, backends: FakeBackends, gateway: App
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
    client: Client, backends: FakeBackends, gateway: App
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


@pytest.mark.parametrize("file_at", [0, 1])
async def test_a_file_in_a_field_of_another_name_is_a_422_that_says_so(client: Client, file_at: int) -> None:
    data = aiohttp.FormData()
    for index in range(2):
        if index == file_at:
            data.add_field("apk", b"content", filename="shop.apk")
        else:
            data.add_field("version", "1")
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "apk"])
    assert answer.json["detail"][0]["msg"] == "Send the artifact in the field 'file', not 'apk'"


async def test_a_malformed_form_is_a_400(client: Client) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=b"nothing like it", headers=headers)
    assert answer.status in (400, 422)
    headers = {"Content-Type": "multipart/form-data"}
    assert (await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=b"x", headers=headers)).status == 400


async def test_a_build_stored_elsewhere_is_created_with_json(client: Client, backends: FakeBackends) -> None:
    backends.on("CreateBuild", lambda request: builds_pb2.Build(id="b2", artifact_url=request.artifact_url))
    body = {"version": "1", "artifact_url": "https://store/shop.apk"}
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", json=body)
    assert (answer.status, answer.json["artifact_url"]) == (201, "https://store/shop.apk")


@pytest.mark.parametrize("name", ["x{}", "x"])
async def test_a_form_with_too_many_fields_is_a_413(client: Client, name: str) -> None:
    fields = tuple((name.format(number), "") for number in range(200))
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(*fields))
    assert (answer.status, answer.json["code"]) == (413, "BODY_TOO_LARGE")


async def test_ignored_fields_are_named_before_and_after_the_file(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    path = f"/api/v1/apps/{uuid4()}/builds?dry_run=1"
    answer = await client("POST", path, data=form(("version", "1"), ("x", "y"), ("late", "z"), file_at=2))
    assert (answer.status, answer.headers["X-Ignored-Fields"]) == (201, "dry_run, x, late")


async def test_strict_handling_rejects_an_unknown_field_after_the_file(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    data, headers = form(("version", "1"), ("late", "z"), file_at=1), {"Prefer": "handling=strict"}
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data, headers=headers)
    assert (answer.status, answer.json["detail"][0]["loc"]) == (422, ["body", "late"])


async def test_an_upload_with_expect_gets_100_continue(client: Client, backends: FakeBackends) -> None:
    keep_upload(backends)
    async with asyncio.timeout(30):
        answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form(), expect100=True)
    assert answer.status == 201
