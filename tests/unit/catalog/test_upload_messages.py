"""The messages of an upload: metadata first, then chunks, then the end with the complete metadata."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from mobiletest.catalog.v1.builds_pb2 import UploadBuildEnd, UploadBuildMetadata, UploadBuildRequest

from services.catalog.grpc.builds import BuildsServicer
from services.catalog.model.builds import Build
from services.catalog.usecases.uploaded_files import Arrive, Cover
from services.catalog.usecases.uploads import NewBuild
from services.chassis.clock import SystemClock
from services.chassis.context import Caller, bind
from services.chassis.errors import Aborted, DomainError, InvalidArgument
from services.chassis.file_writer import StoredFile
from services.chassis.stored_transfers import WRITES_OBJECTS, object_key

METADATA = UploadBuildRequest(metadata=UploadBuildMetadata(app_id="a", version="1"))
CHUNK = UploadBuildRequest(chunk=b"123")
KEY, SHA256 = "org/uploads/1/file", "ab" * 32


class FakeUploads:
    """Receives uploads and keeps what arrived."""

    def __init__(self) -> None:
        self.content, self.covered = b"", list[int]()

    async def upload(self, new: NewBuild, arrive: Arrive, *, final: Callable[[], NewBuild]) -> tuple[Build, bool]:
        async def cover(size: int) -> None:
            self.covered.append(size)

        self.file = await arrive(KEY, cover)
        self.first, self.final = new, final()
        return Build("b", "org", "a", self.final.version or "", SystemClock().now()), False

    async def store(self, chunks: AsyncIterator[bytes], key: str, cover: Cover) -> StoredFile:
        self.content = b"".join([chunk async for chunk in chunks])
        return StoredFile("", len(self.content))


class FakeContext:
    """The context of a call with this metadata."""

    def __init__(self, *metadata: tuple[str, str]) -> None:
        self._metadata = metadata
        self.sent: tuple[tuple[str, str], ...] = ()

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata

    async def send_initial_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
        self.sent = metadata


async def upload(
    *messages: UploadBuildRequest, context: FakeContext | None = None, via_gateway: bool = True
) -> FakeUploads:
    async def requests() -> AsyncIterator[UploadBuildRequest]:
        for message in messages:
            yield message

    uploads = FakeUploads()
    servicer = BuildsServicer(cast(Any, None), cast(Any, uploads), cast(Any, None), uploads.store)
    with bind(Caller("org", via_gateway=via_gateway)):
        await servicer.UploadBuild(requests(), context or FakeContext())
    return uploads


def end(size: int, version: str | None = None, sha256: str = "") -> UploadBuildRequest:
    metadata = UploadBuildMetadata(app_id="a", version=version) if version is not None else None
    return UploadBuildRequest(end=UploadBuildEnd(size=size, sha256=sha256), metadata=metadata)


async def test_metadata_at_the_end_counts() -> None:
    uploads = await upload(METADATA, CHUNK, CHUNK, end(6, version="2"))
    assert (uploads.first.version, uploads.final.version, uploads.content) == ("1", "2", b"123123")


async def test_end_without_metadata_keeps_the_first() -> None:
    assert (await upload(METADATA, CHUNK, end(3))).final.version == "1"


@pytest.mark.parametrize(
    ("messages", "error", "reason"),
    [
        ([], InvalidArgument, "METADATA_MISSING"),
        ([CHUNK, end(3)], InvalidArgument, "METADATA_MISSING"),
        ([METADATA, METADATA, end(0)], InvalidArgument, "METADATA_REPEATED"),
        ([METADATA, CHUNK], Aborted, "UPLOAD_CUT"),
        ([METADATA, CHUNK, end(4)], Aborted, "UPLOAD_CUT"),
        ([METADATA, CHUNK, end(2, version="2")], Aborted, "UPLOAD_CUT"),
    ],
)
async def test_messages_in_another_order_are_refused(
    messages: list[UploadBuildRequest], error: type[DomainError], reason: str
) -> None:
    with pytest.raises(error) as caught:
        await upload(*messages)
    assert caught.value.reason == reason


async def test_the_gateway_writes_the_file_to_the_key_and_says_how_much_is_there() -> None:
    context = FakeContext(WRITES_OBJECTS)
    reports = [UploadBuildRequest(stored_bytes=size) for size in (5, 9)]
    uploads = await upload(METADATA, *reports, end(10, version="2", sha256=SHA256), context=context)
    assert (object_key(context.sent), uploads.content) == (KEY, b"")
    assert (uploads.file, uploads.covered, uploads.final.version) == (StoredFile(SHA256, 10), [5, 9, 10], "2")


@pytest.mark.parametrize("last", [(), (end(5),)], ids=["no end", "no digest"])
async def test_a_file_that_the_gateway_has_not_written_to_its_end_is_cut(last: tuple[UploadBuildRequest, ...]) -> None:
    with pytest.raises(Aborted, match="stopped after"):
        await upload(METADATA, UploadBuildRequest(stored_bytes=5), *last, context=FakeContext(WRITES_OBJECTS))


async def test_only_the_gateway_gets_an_object_key() -> None:
    context = FakeContext(WRITES_OBJECTS)
    uploads = await upload(METADATA, CHUNK, end(3), context=context, via_gateway=False)
    assert (context.sent, uploads.content) == ((), b"123")
