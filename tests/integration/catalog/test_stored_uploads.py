"""Uploads of a caller that writes the file to the object store itself, as the gateway does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import uuid4

import grpc
import pytest
from mobiletest.catalog.v1 import apps_pb2, builds_pb2

from services.chassis import context
from services.chassis.error_status import to_domain_error
from services.chassis.errors import (
    Aborted,
    AlreadyExists,
    DomainError,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    Unavailable,
)
from services.chassis.grpc_channel import REPLAYED
from services.chassis.object_store import ObjectStore
from services.chassis.stored_transfers import WRITES_OBJECTS, object_key
from tests.eventually import eventually
from tests.fakes.artifacts import apk, archive
from tests.fakes.catalog_samples import chunks
from tests.integration.catalog.conftest import Service
from tests.integration.catalog.test_apps_rpc import made

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTENT = apk("com.example.shop", "2.1.0")


class Upload:
    """The call of an upload, whose messages the test writes."""

    def __init__(self, service: Service, rpc: Any, first: Any) -> None:
        self.objects = ObjectStore.open(service.settings.object_store)
        self.call = rpc(None, metadata=(WRITES_OBJECTS,))
        self._first = first

    async def begin(self) -> str:
        """The key; the error of an upload that is refused."""
        await self.call.write(self._first)
        key = object_key(await self.call.initial_metadata())
        if key is None:
            await self.call
        assert key is not None
        return key

    async def store(self, key: str, content: bytes) -> None:
        await self.objects.put_stream(key, chunks(content))

    async def end(self, content: bytes, **fields: Any) -> Any:
        end = {"size": len(content), "sha256": sha256(content).hexdigest()}
        await self.call.write(type(self._first)(end=end, **(fields or {"stored_bytes": len(content)})))
        await self.call.done_writing()
        return await self.call

    async def send(self, content: bytes, **fields: Any) -> Any:
        await self.store(await self.begin(), content)
        return await self.end(content, **fields)


def build(service: Service, app: apps_pb2.App, **fields: Any) -> Upload:
    metadata = builds_pb2.UploadBuildMetadata(app_id=app.id, file_name="shop.apk", **fields)
    return Upload(service, service.builds.UploadBuild, builds_pb2.UploadBuildRequest(metadata=metadata))


def chunkless(app: apps_pb2.App, version: str) -> builds_pb2.UploadBuildMetadata:
    return builds_pb2.UploadBuildMetadata(app_id=app.id, version=version, file_name="shop.apk")


async def error_of(call: Any) -> DomainError:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    known = to_domain_error(error.value)
    assert known is not None
    return known


async def test_a_stored_file_is_inspected_and_becomes_a_build(service: Service) -> None:
    app = await made(service)
    upload = build(service, app, version="1")
    key = await upload.begin()
    assert key.startswith(f"{context.current().org_id}/uploads/")
    await upload.store(key, CONTENT)
    await upload.call.write(builds_pb2.UploadBuildRequest(stored_bytes=len(CONTENT)))
    made_build = await upload.end(CONTENT, metadata=chunkless(app, "2"))
    digest = sha256(CONTENT).hexdigest()
    assert (made_build.version, made_build.package_name, made_build.was_reused) == ("2", "com.example.shop", False)
    assert (made_build.sha256, made_build.size_bytes, service.files()) == (digest, len(CONTENT), [digest])
    again = await build(service, app, version="3").send(CONTENT, metadata=chunkless(app, "3"))
    assert (again.was_reused, service.files()) == (True, [digest])
    request = builds_pb2.DownloadBuildRequest(version_id=again.id)
    assert b"".join([part.data async for part in service.builds.DownloadBuild(request)]) == CONTENT


async def test_a_repeated_upload_with_an_idempotency_key_is_the_same_build(service: Service) -> None:
    app, digest = await made(service), sha256(CONTENT).hexdigest()
    with context.bind(replace(context.current(), idempotency_key=str(uuid4()))):
        uploads = [build(service, app, version="1") for _ in range(2)]
        first, second = [await upload.send(CONTENT, metadata=chunkless(app, "1")) for upload in uploads]
        assert (second, service.files()) == (first, [digest])
        replayed = [REPLAYED in tuple(await upload.call.trailing_metadata()) for upload in uploads]
        assert replayed == [False, True]
        for content, version in ((apk("com.example.shop", "2.1.1"), "1"), (CONTENT, "2")):
            error = await error_of(build(service, app).send(content, metadata=chunkless(app, version)))
            assert (type(error), error.reason) == (AlreadyExists, "IDEMPOTENCY_KEY_REUSED")


async def test_uploads_at_the_same_time_with_one_idempotency_key_are_one_build(service: Service) -> None:
    app = await made(service)
    with context.bind(replace(context.current(), idempotency_key=str(uuid4()))):
        uploads = [build(service, app) for _ in range(2)]
        keys = [await upload.begin() for upload in uploads]
        for upload, key in zip(uploads, keys, strict=True):
            await upload.store(key, CONTENT)
        first, second = [await upload.end(CONTENT, metadata=chunkless(app, "1")) for upload in uploads]
    assert first == second


async def test_an_upload_is_refused_before_it_gets_a_key(service: Service) -> None:
    app = await made(service)
    await build(service, app, version="1").send(CONTENT, metadata=chunkless(app, "1"))
    assert isinstance(await error_of(build(service, app, version="1").begin()), AlreadyExists)
    missing = build(service, apps_pb2.App(id=context.current().org_id), version="1")
    assert isinstance(await error_of(missing.begin()), NotFound)


async def test_uploads_under_way_share_the_room_for_them(service: Service) -> None:
    app, under_way = await made(service), []
    room = service.settings.spool_bytes // 4 // service.settings.artifact_max_bytes
    for number in range(room):
        under_way.append(build(service, app, version=str(number), expected_bytes=service.settings.artifact_max_bytes))
        await under_way[-1].begin()
    one_more = build(service, app, version="x", expected_bytes=service.settings.artifact_max_bytes)
    assert isinstance(await error_of(one_more.begin()), ResourceExhausted)
    for upload in under_way:
        upload.call.cancel()


REFUSED: dict[str, tuple[bytes, Callable[[Upload, str, bytes], Any], type[DomainError]]] = {
    "hostile": (archive({"../x": b""}), lambda upload, _, content: upload.end(content), InvalidArgument),
    "another size": (CONTENT, lambda upload, _, content: upload.end(content + b"x"), Unavailable),
    "too large": (CONTENT, lambda upload, _, content: upload.end(bytes(9 * 1024**2)), InvalidArgument),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refused_file_is_not_stored(service: Service, name: str) -> None:
    content, end, error = REFUSED[name]
    upload = build(service, await made(service), version="1")
    key = await upload.begin()
    await upload.store(key, content)
    assert isinstance(await error_of(end(upload, key, content)), error)
    assert service.files() == []


async def test_a_file_that_is_not_in_the_store_makes_no_build_and_is_no_part(service: Service) -> None:
    _, part = await start_parts(service, CONTENT)
    for upload in (build(service, await made(service), version="1"), part()):
        await upload.begin()
        error = await error_of(upload.end(CONTENT))
        assert (type(error), error.reason) == (Unavailable, "FILE_NOT_STORED")


async def test_a_file_that_grows_too_large_ends_the_call(service: Service) -> None:
    upload = build(service, await made(service), version="1")
    await upload.begin()
    await upload.call.write(builds_pb2.UploadBuildRequest(stored_bytes=9 * 1024**2))
    assert (await error_of(upload.call)).reason == "ARTIFACT_TOO_LARGE"


async def test_an_interrupted_upload_leaves_no_file(service: Service) -> None:
    app = await made(service)
    upload = build(service, app, version="1")
    await upload.store(await upload.begin(), CONTENT)
    upload.call.cancel()
    await eventually(lambda: not service.files())
    upload = build(service, app, version="1")
    await upload.store(await upload.begin(), CONTENT)
    await upload.call.done_writing()
    assert isinstance(await error_of(upload.call), Aborted)
    assert service.files() == []


async def start_parts(service: Service, content: bytes) -> tuple[builds_pb2.PartUpload, Callable[..., Upload]]:
    app, digest = await made(service), sha256(content).hexdigest()
    request = builds_pb2.StartUploadRequest(app_id=app.id, sha256=digest, size_bytes=len(content))
    started = await service.builds.StartUpload(request)

    def part(number: int = 1, sha256: str = digest) -> Upload:
        first = builds_pb2.PutUploadPartRequest(upload_id=started.id, number=number, sha256=sha256)
        return Upload(service, service.builds.PutUploadPart, first)

    return started, part


async def test_a_stored_part_is_part_of_the_build(service: Service) -> None:
    started, part = await start_parts(service, CONTENT)
    for _ in range(2):
        assert list((await part().send(CONTENT)).missing_parts) == []
    assert service.files() == ["1"]
    request = builds_pb2.CompleteUploadRequest(upload_id=started.id)
    assert (await service.builds.CompleteUpload(request)).version == "2.1.0"
    assert service.files() == [sha256(CONTENT).hexdigest()]


async def test_a_stored_part_that_is_wrong_leaves_the_right_one(service: Service) -> None:
    _, part = await start_parts(service, CONTENT)
    await part().send(CONTENT)
    for wrong in (CONTENT[1:], CONTENT + b"x", b"x" * len(CONTENT)):
        assert isinstance(await error_of(part().send(wrong)), InvalidArgument)
    assert isinstance(await error_of(part(2).begin()), InvalidArgument)
    cut = part()
    await cut.store(await cut.begin(), CONTENT)
    cut.call.cancel()
    await eventually(lambda: service.files() == ["1"])
    objects, folder = ObjectStore.open(service.settings.object_store), service.objects / context.current().org_id
    [stored] = [path for path in await asyncio.to_thread(list, folder.rglob("1")) if path.is_file()]
    key = str(stored.relative_to(service.objects))

    async def content() -> AsyncIterator[bytes]:
        async for chunk in objects.get_stream(key):
            yield chunk

    assert b"".join([chunk async for chunk in content()]) == CONTENT
