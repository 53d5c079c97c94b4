"""Uploads in the object store: the service says where the gateway writes a file, and learns what is there."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
from mobiletest.catalog.v1 import builds_pb2

from services.chassis.errors import AlreadyExists, PermissionDenied
from services.chassis.stored_transfers import WRITES_OBJECTS
from tests.eventually import eventually
from tests.fakes.gateway import FakeBackends
from tests.integration.gateway.conftest import Client
from tests.integration.gateway.upload_forms import MEBIBYTE, form, keep_upload

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONTENT = bytes(range(256)) * 4096 * 20


@pytest.fixture(scope="module")
def settings_overrides() -> dict[str, Any]:
    return {"max_upload_bytes": 64 * MEBIBYTE, "idle_timeout_seconds": 1}


def stored(store: Path) -> list[Path]:
    return [path for path in store.rglob("*") if path.is_file()]


async def test_a_build_is_written_to_the_store(client: Client, backends: FakeBackends, store: Path) -> None:
    keep_upload(backends)
    data = form(("version", "1"), ("package_name", "com.shop"), file=CONTENT, file_at=1)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["version"]) == (201, "1")
    first, *reports, last = backends.requests("UploadBuild")[0]
    assert (first.metadata.version, last.metadata.package_name) == ("1", "com.shop")
    assert (last.end.size, last.end.sha256) == (len(CONTENT), sha256(CONTENT).hexdigest())
    sizes = [message.stored_bytes for message in reports]
    assert (sizes == sorted(sizes), len(sizes), any(message.chunk for message in reports)) == (True, 2, False)
    assert backends.of("UploadBuild")[0].metadata[WRITES_OBJECTS[0]] == WRITES_OBJECTS[1]
    file = store / backends.object_key
    assert file.read_bytes() == CONTENT
    file.unlink()


async def test_a_part_is_written_to_the_store(client: Client, backends: FakeBackends, store: Path) -> None:
    backends.on("PutUploadPart", lambda _: builds_pb2.PartUpload(part_count=1))
    path, digest = f"/api/v1/uploads/{uuid4()}/parts/1", sha256(b"content").hexdigest()
    answer = await client("PUT", path, params={"sha256": digest}, data=b"content")
    assert answer.status == 200
    first, last = backends.requests("PutUploadPart")[0]
    assert (first.number, first.sha256, last.end.size, last.end.sha256) == (1, digest, 7, digest)
    (store / backends.object_key).unlink()


async def test_a_refusal_before_the_file_reads_nothing_of_it(
    client: Client, backends: FakeBackends, store: Path
) -> None:
    async def receive(messages: AsyncIterator[Any]) -> object:
        raise AlreadyExists("The app has this version", reason="VERSION_EXISTS")

    backends.on_messages("UploadBuild", receive)
    backends.object_key = ""
    data = form(("version", "1"), file=CONTENT)
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
    assert (answer.status, answer.json["code"], stored(store)) == (409, "VERSION_EXISTS", [])
    assert len(backends.of("UploadBuild")) == 1


async def test_a_refusal_while_the_file_arrives_leaves_nothing(
    client: Client, backends: FakeBackends, store: Path
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * MEBIBYTE

    for refuse_after in (1, 2, 3):

        async def receive(messages: AsyncIterator[Any], count: int = refuse_after) -> object:
            for _ in range(count):
                await anext(messages)
            raise PermissionDenied("artifact_bytes", reason="LIMIT_REACHED")

        backends.on_messages("UploadBuild", receive)
        with aiohttp.MultipartWriter("form-data") as data:
            data.append(endless()).set_content_disposition("form-data", name="file", filename="shop.apk")
            answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data)
        assert (answer.status, answer.json["code"], stored(store)) == (403, "LIMIT_REACHED", [])


async def test_a_disconnected_client_leaves_no_state(client: Client, backends: FakeBackends, store: Path) -> None:
    keep_upload(backends)

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * MEBIBYTE
        await asyncio.Event().wait()

    with aiohttp.MultipartWriter("form-data") as data:
        data.append(endless()).set_content_disposition("form-data", name="file", filename="shop.apk")
        upload = asyncio.create_task(client("POST", f"/api/v1/apps/{uuid4()}/builds", data=data))
        await eventually(lambda: stored(store))
        upload.cancel()
    await eventually(lambda: not stored(store))
    assert not any(message.HasField("end") for messages in backends.requests("UploadBuild") for message in messages)


async def test_a_store_that_cannot_be_written_is_a_503(client: Client, backends: FakeBackends, store: Path) -> None:
    keep_upload(backends)
    (store / "full").touch()
    backends.object_key = "full/file"
    answer = await client("POST", f"/api/v1/apps/{uuid4()}/builds", data=form())
    assert (answer.status, answer.json["code"]) == (503, "STORE_UNAVAILABLE")
    (store / "full").unlink()
