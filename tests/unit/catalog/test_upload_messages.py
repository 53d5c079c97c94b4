"""The messages of an upload: metadata first, then chunks, then the end with the complete metadata."""

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from mobiletest.catalog.v1.builds_pb2 import UploadBuildEnd, UploadBuildMetadata, UploadBuildRequest

from services.catalog.grpc.builds import BuildsServicer
from services.catalog.model.builds import Build
from services.catalog.usecases.uploads import NewBuild
from services.chassis.clock import SystemClock
from services.chassis.errors import Aborted, DomainError, InvalidArgument

METADATA = UploadBuildRequest(metadata=UploadBuildMetadata(app_id="a", version="1"))
CHUNK = UploadBuildRequest(chunk=b"123")


class FakeUploads:
    """Receives uploads and keeps what arrived."""

    async def upload(self, new: NewBuild, chunks: AsyncIterator[bytes], *, final: Callable[[], NewBuild]) -> Build:
        self.first, self.content, self.final = new, b"".join([chunk async for chunk in chunks]), final()
        return Build("b", "org", "a", self.final.version or "", SystemClock().now())


async def upload(*messages: UploadBuildRequest) -> FakeUploads:
    async def requests() -> AsyncIterator[UploadBuildRequest]:
        for message in messages:
            yield message

    uploads = FakeUploads()
    await BuildsServicer(cast(Any, None), cast(Any, uploads), cast(Any, None)).UploadBuild(requests(), None)
    return uploads


def end(size: int, version: str | None = None) -> UploadBuildRequest:
    metadata = UploadBuildMetadata(app_id="a", version=version) if version is not None else None
    return UploadBuildRequest(end=UploadBuildEnd(size=size), metadata=metadata)


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
