"""The gRPC service Builds, on the running catalog: real files, real inspection, real object store."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.struct_pb2 import Struct, Value
from mobiletest.catalog.v1 import apps_pb2, builds_pb2
from mobiletest.types.v1.platform_pb2 import PLATFORM_ANDROID

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from services.chassis.object_store import ObjectStore
from services.chassis.stored_downloads import READS_OBJECTS, stored_object
from tests.eventually import eventually
from tests.fakes.artifacts import apk, archive
from tests.integration.catalog.conftest import TOKEN, Service, foreign
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
    """Its manifest names version and package; the bytes come back with their headers."""
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


async def test_a_caller_with_the_object_store_is_told_where_a_large_build_is(service: Service) -> None:
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


async def test_the_app_follows_its_builds(service: Service) -> None:
    """Counts, newest and current, in the same answer that reads it."""
    app = await made(service)
    await service.apps.UpdateApp(apps_pb2.UpdateAppRequest(app_id=app.id, current_version="1"))
    first = await service.builds.UploadBuild(upload(app, b"name: shop", "1"))
    second = await service.builds.UploadBuild(upload(app, b"name: shop", "2"))
    assert (first.was_reused, second.was_reused) == (False, True)
    assert len(service.files()) == 1
    now = await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))
    assert (now.versions_count, now.latest_version, now.latest_build_id) == (2, "2", second.id)
    assert (now.current_build_id, now.revision) == (first.id, 4)
    listed = await service.builds.ListBuilds(builds_pb2.ListBuildsRequest(app_id=app.id))
    assert ([b.version for b in listed.items], listed.total, listed.page_size) == (["2", "1"], 2, 20)


async def test_a_referred_build_is_not_fetched(service: Service) -> None:
    """Its address is all there is."""
    app = await made(service)
    facts = Struct()
    facts.update({"$where": 1, "a.b": [True, None, 2.5]})
    request = builds_pb2.CreateBuildRequest(
        app_id=app.id, version="1", artifact_url="https://x.test/a.apk", metadata=facts
    )
    build = await service.builds.CreateBuild(request)
    assert (build.artifact_url, build.HasField("download_url")) == ("https://x.test/a.apk", False)
    assert (await service.builds.GetBuild(builds_pb2.GetBuildRequest(version_id=build.id))).metadata == facts
    call = service.builds.DownloadBuild(builds_pb2.DownloadBuildRequest(version_id=build.id))
    assert isinstance(await failed(call.read()), FailedPrecondition)
    assert isinstance(await failed(service.builds.CreateBuild(request)), AlreadyExists)


async def test_updates_and_deletion_of_a_build(service: Service) -> None:
    """A rename, metadata replaced, the package cleared; a deleted version comes again."""
    app = await made(service)
    build = await service.builds.UploadBuild(upload(app, apk("com.example", "1.0")))
    facts = Struct()
    facts.update({"a": "b"})
    mask = FieldMask(paths=["version", "metadata", "package_name"])
    request = builds_pb2.UpdateBuildRequest(version_id=build.id, version="1.1", metadata=facts, update_mask=mask)
    changed = await service.builds.UpdateBuild(request)
    assert (changed.version, changed.metadata, changed.HasField("package_name")) == ("1.1", facts, False)
    nothing = FieldMask(paths=["version"])
    same = await service.builds.UpdateBuild(builds_pb2.UpdateBuildRequest(version_id=build.id, update_mask=nothing))
    assert same == changed
    await service.builds.UploadBuild(upload(app, b"x", "1.0"))
    error = await failed(service.builds.UpdateBuild(builds_pb2.UpdateBuildRequest(version_id=build.id, version="1.0")))
    assert isinstance(error, AlreadyExists)
    await service.builds.DeleteBuild(builds_pb2.DeleteBuildRequest(version_id=build.id))
    again = await service.builds.UploadBuild(upload(app, apk("com.example", "1.0"), "1.1"))
    assert (again.id != build.id, again.was_reused) == (True, True)
    batch = builds_pb2.BatchGetBuildsRequest(version_ids=[again.id, build.id])
    assert [b.id for b in (await service.builds.BatchGetBuilds(batch)).builds] == [again.id]


async def test_uploads_of_the_same_version_at_the_same_time(service: Service) -> None:
    """One becomes the build, the others a conflict."""
    app = await made(service)
    calls = [service.builds.UploadBuild(upload(app, f"file {n}".encode(), "1")) for n in range(4)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    codes = sorted(r.code().name if isinstance(r, grpc.aio.AioRpcError) else "OK" for r in results)
    assert codes == ["ALREADY_EXISTS", "ALREADY_EXISTS", "ALREADY_EXISTS", "OK"]
    now = await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))
    assert now.versions_count == 1


def size(path: Path) -> int:
    """How much of a file has arrived; none of one that has gone."""
    return path.stat().st_size if path.exists() else 0


async def test_an_upload_that_is_cut_leaves_nothing(service: Service) -> None:
    """No build, no object, no file in the spool."""
    app = await made(service)
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        async for message in upload(app, b"x" * PART, "1", end=None):
            yield message
        begun.set()
        await asyncio.Event().wait()

    call = service.builds.UploadBuild(endless())
    await begun.wait()
    await eventually(lambda: list(service.spool.iterdir()))
    call.cancel()
    await eventually(lambda: not list(service.spool.iterdir()))
    assert service.files() == []
    assert (await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))).versions_count == 0


KILLED_CLIENT = """
import asyncio, grpc, sys
from mobiletest.catalog.v1 import builds_pb2, builds_pb2_grpc
address, token, org_id, app_id = sys.argv[1:]

async def messages():
    metadata = builds_pb2.UploadBuildMetadata(app_id=app_id, version="1")
    yield builds_pb2.UploadBuildRequest(metadata=metadata)
    yield builds_pb2.UploadBuildRequest(chunk=b"half of it")
    await asyncio.Event().wait()

async def main():
    metadata = (("authorization", f"Bearer {token}"), ("x-org-id", org_id), ("x-scopes", "write"))
    async with grpc.aio.insecure_channel(address) as channel:
        await builds_pb2_grpc.BuildsStub(channel).UploadBuild(messages(), metadata=metadata)

asyncio.run(main())
"""


async def test_a_client_that_is_killed_leaves_nothing(service: Service) -> None:
    """gRPC shows its end as the end of the file first; it is no build all the same."""
    app = await made(service)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", KILLED_CLIENT, service.address, TOKEN, app.org_id, app.id),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    await eventually(lambda: any(size(path) for path in service.spool.iterdir()))
    child.kill()
    await child.wait()
    await eventually(lambda: not list(service.spool.iterdir()))
    now = await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))
    assert (now.versions_count, service.files()) == (0, [])


@pytest.mark.parametrize("end", [None, 0, 4, 6])
async def test_an_upload_without_its_end_was_cut(service: Service, end: int | None) -> None:
    """A stream that is cut looks like one that has ended; it does not become a build."""
    app = await made(service)
    error = await failed(service.builds.UploadBuild(upload(app, b"12345", "1", end=end)))
    assert isinstance(error, Aborted)
    assert error.reason == "UPLOAD_CUT"
    assert (service.files(), list(service.spool.iterdir())) == ([], [])
    build = await service.builds.UploadBuild(upload(app, b"12345", "1", end=5))
    assert build.version == "1"


async def end_with_metadata(
    app: apps_pb2.App, first: str | None, last: str, **fields: Any
) -> AsyncIterator[builds_pb2.UploadBuildRequest]:
    """An upload whose metadata comes at the end."""
    yield builds_pb2.UploadBuildRequest(metadata=builds_pb2.UploadBuildMetadata(app_id=app.id, version=first))
    yield builds_pb2.UploadBuildRequest(chunk=b"12345")
    metadata = builds_pb2.UploadBuildMetadata(app_id=app.id, version=last, **fields)
    yield builds_pb2.UploadBuildRequest(metadata=metadata, end=builds_pb2.UploadBuildEnd(size=5))


async def test_the_metadata_at_the_end_replaces_the_first(service: Service) -> None:
    app = await made(service)
    fields = {"file_name": "shop.apk", "package_name": "com.shop", "metadata": {"branch": "main"}}
    build = await service.builds.UploadBuild(end_with_metadata(app, "draft", "1.2", **fields))
    assert (build.version, build.file_name, build.package_name) == ("1.2", "shop.apk", "com.shop")
    assert dict(build.metadata) == {"branch": "main"}


@pytest.mark.parametrize("version", ["1.2", " "])
async def test_the_metadata_at_the_end_is_checked(service: Service, version: str) -> None:
    """A version that the app has already, and one that is not a version: neither leaves anything."""
    app = await made(service)
    await service.builds.UploadBuild(upload(app, b"first", "1.2"))
    kept = service.files()
    error = await failed(service.builds.UploadBuild(end_with_metadata(app, None, version)))
    assert isinstance(error, AlreadyExists if version == "1.2" else InvalidArgument)
    assert (service.files(), list(service.spool.iterdir())) == (kept, [])


async def stray_chunk() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
    """An upload that begins with bytes."""
    yield builds_pb2.UploadBuildRequest(chunk=b"x")


async def nothing() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
    """An upload without any message."""
    for _ in ():
        yield builds_pb2.UploadBuildRequest()


async def metadata_between(app: apps_pb2.App) -> AsyncIterator[builds_pb2.UploadBuildRequest]:
    """An upload with metadata between its chunks."""
    metadata = builds_pb2.UploadBuildMetadata(app_id=app.id, version="1")
    yield builds_pb2.UploadBuildRequest(metadata=metadata)
    yield builds_pb2.UploadBuildRequest(chunk=b"x")
    yield builds_pb2.UploadBuildRequest(metadata=metadata)
    yield builds_pb2.UploadBuildRequest(chunk=b"", end=builds_pb2.UploadBuildEnd(size=1))


REFUSED: dict[str, Callable[[apps_pb2.App], AsyncIterator[Any]]] = {
    "empty": lambda app: upload(app, b"", "1"),
    "no version": lambda app: upload(app, b"name: shop"),
    "too large": lambda app: upload(app, b"x" * (8 * 1024 * 1024 + 1), "1"),
    "hostile": lambda app: upload(app, archive({"../x": b""}), "1"),
    "metadata": lambda app: upload(app, b"x", "1", metadata=Struct(fields={"a": Value(string_value="x" * 70_000)})),
    "bytes first": lambda app: stray_chunk(),
    "no message": lambda app: nothing(),
    "metadata between chunks": metadata_between,
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_leaves_nothing(service: Service, name: str) -> None:
    """INVALID_ARGUMENT, and neither build nor object."""
    app = await made(service)
    error = await failed(service.builds.UploadBuild(REFUSED[name](app)))
    assert isinstance(error, InvalidArgument)
    assert service.files() == []
    assert list(service.spool.iterdir()) == []


async def test_an_unreadable_artifact_is_kept_with_the_reason(service: Service) -> None:
    """The build is there, its metadata says what went wrong."""
    app = await made(service)
    build = await service.builds.UploadBuild(upload(app, apk()[:200], "1"))
    assert "not a readable zip" in build.metadata["metadata_error"]


async def test_foreign_builds_look_like_unknown_ones(service: Service) -> None:
    """The same answer from every method."""
    app = await made(service)
    build = await service.builds.UploadBuild(upload(app, b"x", "1"))
    with foreign():
        for version_id in (build.id, str(uuid4())):
            for call in (
                service.builds.GetBuild(builds_pb2.GetBuildRequest(version_id=version_id)),
                service.builds.UpdateBuild(builds_pb2.UpdateBuildRequest(version_id=version_id, version="2")),
                service.builds.DeleteBuild(builds_pb2.DeleteBuildRequest(version_id=version_id)),
                service.builds.DownloadBuild(builds_pb2.DownloadBuildRequest(version_id=version_id)).read(),
            ):
                error = await failed(call)
                assert isinstance(error, NotFound)
                assert error.message == "Build not found"
        for call in (
            service.builds.UploadBuild(upload(app, b"x", "9")),
            service.builds.ListBuilds(builds_pb2.ListBuildsRequest(app_id=app.id)),
        ):
            assert (await failed(call)).message == "App not found"


async def test_the_platform_of_an_app_stays(service: Service) -> None:
    """Builds do not change it."""
    app = await made(service)
    await service.builds.UploadBuild(upload(app, b"x", "1"))
    assert (await service.apps.GetApp(apps_pb2.GetAppRequest(app_id=app.id))).platform == PLATFORM_ANDROID
