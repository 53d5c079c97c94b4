"""The gRPC service Builds."""

# ruff: noqa: N802 (gRPC names the methods)

from collections.abc import AsyncIterator
from typing import Any

from google.api.httpbody_pb2 import HttpBody
from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import builds_pb2, builds_pb2_grpc

from services.catalog.messages.builds import build_message, referred, uploaded
from services.catalog.messages.downloads import headers_of
from services.catalog.messages.values import envelope, mapping_of, named_fields, optional, page_of
from services.catalog.usecases.builds import BuildUseCases
from services.catalog.usecases.uploads import UploadUseCases
from services.chassis.errors import Aborted, InvalidArgument

_CHANGEABLE = ("metadata", "package_name", "version")
_CONTENT_TYPE = "application/octet-stream"


class BuildsServicer(builds_pb2_grpc.BuildsServicer):
    """See the proto."""

    def __init__(self, usecases: BuildUseCases, uploads: UploadUseCases) -> None:
        self._usecases = usecases
        self._uploads = uploads

    async def CreateBuild(self, request: builds_pb2.CreateBuildRequest, context: Any) -> builds_pb2.Build:
        return build_message(await self._uploads.refer(referred(request)))

    async def UploadBuild(
        self, requests: AsyncIterator[builds_pb2.UploadBuildRequest], context: Any
    ) -> builds_pb2.Build:
        first = await anext(requests, builds_pb2.UploadBuildRequest())
        if not first.HasField("metadata"):
            raise InvalidArgument("The first message of an upload must be its metadata", reason="METADATA_MISSING")
        chunks = _chunks(requests, has_end=first.metadata.has_end)
        return build_message(await self._uploads.upload(uploaded(first.metadata), chunks))

    async def ListBuilds(self, request: builds_pb2.ListBuildsRequest, context: Any) -> builds_pb2.ListBuildsResponse:
        page = page_of(request)
        listed = await self._usecases.list(request.app_id, page)
        return builds_pb2.ListBuildsResponse(items=map(build_message, listed.items), **envelope(page, listed.total))

    async def GetBuild(self, request: builds_pb2.GetBuildRequest, context: Any) -> builds_pb2.Build:
        return build_message(await self._usecases.get(request.version_id))

    async def BatchGetBuilds(
        self, request: builds_pb2.BatchGetBuildsRequest, context: Any
    ) -> builds_pb2.BatchGetBuildsResponse:
        builds = await self._usecases.many(request.version_ids)
        return builds_pb2.BatchGetBuildsResponse(builds=map(build_message, builds))

    async def UpdateBuild(self, request: builds_pb2.UpdateBuildRequest, context: Any) -> builds_pb2.Build:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: optional(request, field) for field in fields}
        if "metadata" in changes:
            changes["metadata"] = mapping_of(request.metadata)
        return build_message(await self._usecases.update(request.version_id, changes))

    async def DeleteBuild(self, request: builds_pb2.DeleteBuildRequest, context: Any) -> Empty:
        await self._usecases.delete(request.version_id)
        return Empty()

    async def DownloadBuild(self, request: builds_pb2.DownloadBuildRequest, context: Any) -> AsyncIterator[HttpBody]:
        download = await self._usecases.download(request.version_id)
        await context.send_initial_metadata(headers_of(download.build))
        async for chunk in download.chunks:
            yield HttpBody(content_type=_CONTENT_TYPE, data=chunk)


async def _chunks(requests: AsyncIterator[builds_pb2.UploadBuildRequest], *, has_end: bool) -> AsyncIterator[bytes]:
    """The bytes; Aborted when they stop before the end that was promised."""
    size = 0
    async for request in requests:
        if request.HasField("metadata"):
            raise InvalidArgument("Only the first message of an upload may be its metadata", reason="METADATA_REPEATED")
        if request.HasField("end"):
            if request.end.size != size:
                raise _cut(f"{size} of {request.end.size} bytes came")
            return
        size += len(request.chunk)
        yield request.chunk
    if has_end:
        raise _cut(f"it stopped after {size} bytes")


def _cut(how: str) -> Aborted:
    return Aborted(f"The upload was cut: {how}; send it again", reason="UPLOAD_CUT")
