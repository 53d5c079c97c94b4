"""The gRPC service Builds, on the running catalog: real files, real inspection, real object store."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.struct_pb2 import Struct, Value
from mobiletest.catalog.v1 import apps_pb2, builds_pb2

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import InvalidArgument
from services.chassis.object_store import ObjectStore
from services.chassis.stored_transfers import READS_OBJECTS, stored_object
from tests.eventually import eventually
from tests.fakes.artifacts import apk, archive
from tests.integration.catalog.conftest import Service
from tests.integration.catalog.test_apps_rpc import failed, made

pytestmark = pytest.mark.asyncio(loop_scope="session")

PART = 64 * 1024


def upload(
    app: apps_pb2.App, content: bytes, version: str | None = None, *, end: int | None = -1, **fields: Any
) -> AsyncIterator[Any]:
    """The messages of an upload; `end` is the size that the last one gives: by default the real one, None: no end."""
    metadata = builds_pb2.UploadBuildMetadata(app_id=app.id, version=version, file_name="shop.apk", **fields)

    async def messages() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        yield builds_pb2.UploadBuildRequest(metadata=metadata)
        for start in range(0, len(content), PART):
            yield builds_pb2.UploadBuildRequest(chunk=content[start : start + PART])
        if end is not None:
            size = builds_pb2.UploadBuildEnd(size=len(content) if end < 0 else end)
            yield builds_pb2.UploadBuildRequest(chunk=b"", end=size)

    return messages()


async def test_an_apk_is_uploaded_and_downloaded(service: Service) -> None:
    app, content = await made(service), apk("com.example.shop", "2.1.0", extra=bytes(range(256)) * 4096)
    build = await service.builds.UploadBuild(upload(app, content))
    digest = sha256(content).hexdigest()
    assert (build.version, build.package_name, build.was_reused) == ("2.1.0", "com.example.shop", False)
    assert (build.sha256, build.size_bytes, build.file_name) == (digest, len(content), "shop.apk")
    assert build.download_url == f"/api/v1/apps/builds/{build.id}/download"
    assert build.HasField("owner")
    assert service.files() == [digest]
    call = service.builds.DownloadBuild(builds_pb2.DownloadBuildRequest(version_id=build.id))
    headers = {key: value for key, value in await call.initial_metadata() if key.startswith("http-")}
    assert headers == {
        "http-content-length": str(len(content)),
        "http-etag": f'"{digest}"',
        "http-content-disposition": "attachment; filename=\"shop.apk\"; filename*=UTF-8''shop.apk",
    }
    assert b"".join([part.data async for part in call]) == content
    assert list(service.spool.iterdir()) == []


async def test_builds_are_listed_by_checksum_and_version(service: Service) -> None:
    app = await made(service)
    for version in ("1", "2"):
        await service.builds.UploadBuild(upload(app, version.encode(), version))
    digest = sha256(b"1").hexdigest()
    for asked, versions in (
        ({}, ["2", "1"]),
        ({"sha256": digest.upper()}, ["1"]),
        ({"version": "2"}, ["2"]),
        ({"sha256": digest, "version": "2"}, []),
    ):
        listed = await service.builds.ListBuilds(builds_pb2.ListBuildsRequest(app_id=app.id, **asked))
        assert ([build.version for build in listed.items], listed.total) == (versions, len(versions)), asked


async def test_a_caller_with_the_object_store_gets_the_key_of_a_large_build(service: Service) -> None:
    """Headers and the part that was asked for are the same; a small part comes with its bytes."""
    app, content = await made(service), os.urandom(3 * 1024 * 1024)
    build = await service.builds.UploadBuild(upload(app, content, "1"))
    request = builds_pb2.DownloadBuildRequest(version_id=build.id)
    request.range.first = 1000
    call = service.builds.DownloadBuild(request, metadata=(READS_OBJECTS,))
    assert dict(await call.initial_metadata())["http-content-range"] == f"bytes 1000-{len(content) - 1}/{len(content)}"
    (body,) = [body async for body in call]
    stored = stored_object(body)
    assert stored is not None
    assert (body.data, body.content_type) == (b"", "application/octet-stream")
    part = FilePart(stored.start, stored.end, len(content))
    objects = ObjectStore.open(service.settings.object_store)
    assert b"".join([chunk async for chunk in objects.get_stream(stored.key, part)]) == content[1000:]
    request.range.last = 2000
    bodies = [body async for body in service.builds.DownloadBuild(request, metadata=(READS_OBJECTS,))]
    assert b"".join(body.data for body in bodies) == content[1000:2001]


async def test_updates_and_deletion_of_a_build(service: Service) -> None:
    app = await made(service)
    build = await service.builds.UploadBuild(upload(app, apk("com.example", "1.0")))
    facts = Struct()
    facts.update({"a": "b"})
    mask = FieldMask(paths=["version", "metadata", "package_name"])
    request = builds_pb2.UpdateBuildRequest(version_id=build.id, version="1.1", metadata=facts, update_mask=mask)
    changed = await service.builds.UpdateBuild(request)
    assert (changed.version, changed.metadata, changed.HasField("package_name")) == ("1.1", facts, False)
    await service.builds.DeleteBuild(builds_pb2.DeleteBuildRequest(version_id=build.id))
    again = await service.builds.UploadBuild(upload(app, apk("com.example", "1.0"), "1.1"))
    batch = builds_pb2.BatchGetBuildsRequest(version_ids=[again.id, build.id])
    assert [b.id for b in (await service.builds.BatchGetBuilds(batch)).builds] == [again.id]


async def test_an_interrupted_upload_leaves_no_file(service: Service) -> None:
    app = await made(service)
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        async for message in upload(app, b"x" * PART, "1", end=None):
            yield message
        begun.set()
        await asyncio.Event().wait()

    call = service.builds.UploadBuild(endless())
    await begun.wait()
    await eventually(service.files)
    call.cancel()
    await eventually(lambda: not service.files())
    assert (await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))).versions_count == 0


REFUSED: dict[str, Callable[[apps_pb2.App], AsyncIterator[Any]]] = {
    "hostile": lambda app: upload(app, archive({"../x": b""}), "1"),
    "metadata": lambda app: upload(app, b"x", "1", metadata=Struct(fields={"a": Value(string_value="x" * 70_000)})),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_leaves_nothing(service: Service, name: str) -> None:
    app = await made(service)
    error = await failed(service.builds.UploadBuild(REFUSED[name](app)))
    assert isinstance(error, InvalidArgument)
    assert service.files() == []
    assert list(service.spool.iterdir()) == []
