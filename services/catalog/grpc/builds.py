"""The gRPC service Builds."""

import re

# ruff: noqa: N802 (gRPC names the methods)
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from google.api.httpbody_pb2 import HttpBody
from google.protobuf.empty_pb2 import Empty
from mobiletest.catalog.v1 import builds_pb2, builds_pb2_grpc

from services.catalog.grpc.arriving_files import ArrivingFile, StoreChunks
from services.catalog.grpc.conversions import named_fields, page_of
from services.catalog.model.builds import Build, BuildFilter, artifact_key
from services.catalog.model.part_uploads import PartUpload
from services.catalog.usecases.builds import BuildUseCases
from services.catalog.usecases.part_uploads import PartUploadUseCases
from services.catalog.usecases.uploads import NewBuild, UploadUseCases
from services.chassis.byte_ranges import FilePart
from services.chassis.errors import InvalidArgument
from services.chassis.grpc_channel import REPLAYED
from services.chassis.proto_values import json_to_struct, page_fields, read_optional, struct_to_json, to_timestamp
from services.chassis.stored_transfers import http_bodies

_CHANGEABLE = ("metadata", "package_name", "version")
_CONTENT_TYPE = "application/octet-stream"


class BuildsServicer(builds_pb2_grpc.BuildsServicer):
    """See the proto."""

    def __init__(
        self, usecases: BuildUseCases, uploads: UploadUseCases, parts: PartUploadUseCases, store: StoreChunks
    ) -> None:
        self._usecases = usecases
        self._uploads = uploads
        self._parts = parts
        self._store = store

    async def CreateBuild(self, request: builds_pb2.CreateBuildRequest, context: Any) -> builds_pb2.Build:
        return build_message(await self._uploads.refer(new_build_from_url(request)))

    async def UploadBuild(
        self, requests: AsyncIterator[builds_pb2.UploadBuildRequest], context: Any
    ) -> builds_pb2.Build:
        first = await anext(requests, builds_pb2.UploadBuildRequest())
        if not first.HasField("metadata"):
            raise InvalidArgument("The first message of an upload must be its metadata", reason="METADATA_MISSING")
        upload = _Upload(first.metadata)
        file = ArrivingFile(context, requests, self._store, look=upload.read_metadata)
        new = new_build_from_upload(first.metadata)
        build, was_repeated = await self._uploads.upload(new, file.arrive, final=upload.final)
        if was_repeated:
            context.set_trailing_metadata((REPLAYED,))
        return build_message(build)

    async def StartUpload(self, request: builds_pb2.StartUploadRequest, context: Any) -> builds_pb2.PartUpload:
        return part_upload_message(await self._parts.start(request.app_id, request.sha256, request.size_bytes))

    async def GetUpload(self, request: builds_pb2.GetUploadRequest, context: Any) -> builds_pb2.PartUpload:
        return part_upload_message(await self._parts.get(request.upload_id))

    async def PutUploadPart(
        self, requests: AsyncIterator[builds_pb2.PutUploadPartRequest], context: Any
    ) -> builds_pb2.PartUpload:
        first = await anext(requests, builds_pb2.PutUploadPartRequest())
        file = ArrivingFile(context, requests, self._store)
        put = self._parts.put_part(first.upload_id, first.number, first.sha256, file.arrive)
        return part_upload_message(await put)

    async def CompleteUpload(self, request: builds_pb2.CompleteUploadRequest, context: Any) -> builds_pb2.Build:
        return build_message(await self._parts.complete(request.upload_id, new_build_from_parts(request)))

    async def DeleteUpload(self, request: builds_pb2.DeleteUploadRequest, context: Any) -> Empty:
        await self._parts.delete(request.upload_id)
        return Empty()

    async def ListBuilds(self, request: builds_pb2.ListBuildsRequest, context: Any) -> builds_pb2.ListBuildsResponse:
        page = page_of(request)
        filter = BuildFilter(request.sha256.lower() or None, read_optional(request, "version"))
        listed = await self._usecases.list(request.app_id, page, filter)
        return builds_pb2.ListBuildsResponse(
            items=map(build_message, listed.items), **page_fields(request, listed.total)
        )

    async def GetBuild(self, request: builds_pb2.GetBuildRequest, context: Any) -> builds_pb2.Build:
        return build_message(await self._usecases.get(request.version_id))

    async def BatchGetBuilds(
        self, request: builds_pb2.BatchGetBuildsRequest, context: Any
    ) -> builds_pb2.BatchGetBuildsResponse:
        builds = await self._usecases.many(request.version_ids)
        return builds_pb2.BatchGetBuildsResponse(builds=map(build_message, builds))

    async def UpdateBuild(self, request: builds_pb2.UpdateBuildRequest, context: Any) -> builds_pb2.Build:
        fields = named_fields(request, request.update_mask.paths, _CHANGEABLE)
        changes = {field: read_optional(request, field) for field in fields}
        if "metadata" in changes:
            changes["metadata"] = struct_to_json(request.metadata)
        return build_message(await self._usecases.update(request.version_id, changes, request.expected_revisions))

    async def DeleteBuild(self, request: builds_pb2.DeleteBuildRequest, context: Any) -> Empty:
        await self._usecases.delete(request.version_id, request.expected_revisions)
        return Empty()

    async def DownloadBuild(self, request: builds_pb2.DownloadBuildRequest, context: Any) -> AsyncIterator[HttpBody]:
        asked = read_optional(request, "range")
        build, part, chunks = await self._usecases.download(request.version_id, asked)
        await context.send_initial_metadata(download_headers(build, part))
        key = artifact_key(build.org_id, build.sha256 or "")
        async for body in http_bodies(context, _CONTENT_TYPE, chunks, key=key, part=part):
            yield body


class _Upload:
    """The description of an upload, which its last message may replace."""

    def __init__(self, metadata: builds_pb2.UploadBuildMetadata) -> None:
        self._metadata = metadata

    def final(self) -> NewBuild:
        """The complete description; only after the last message."""
        return new_build_from_upload(self._metadata)

    def read_metadata(self, request: builds_pb2.UploadBuildRequest) -> None:
        """Take the metadata of a message after the first one."""
        if not request.HasField("metadata"):
            return
        if not request.HasField("end"):
            message = "Only the first and the last message of an upload may have metadata"
            raise InvalidArgument(message, reason="METADATA_REPEATED")
        self._metadata = request.metadata


def build_message(build: Build) -> builds_pb2.Build:
    """The build as a message."""
    return builds_pb2.Build(
        id=build.id,
        app_id=build.app_id,
        version=build.version,
        artifact_url=build.artifact_url,
        metadata=json_to_struct(build.metadata),
        owner=build.owner,
        uploaded_at=to_timestamp(build.uploaded_at),
        download_url=build.download_url,
        package_name=build.package_name,
        was_reused=build.was_reused,
        revision=build.revision,
        sha256=build.sha256 or "",
        size_bytes=build.size or 0,
        file_name=build.file_name or "",
    )


def new_build_from_url(request: builds_pb2.CreateBuildRequest) -> NewBuild:
    """The description of a build whose artifact is stored elsewhere."""
    return NewBuild(
        app_id=request.app_id,
        version=request.version,
        metadata=struct_to_json(request.metadata),
        package_name=read_optional(request, "package_name"),
        artifact_url=request.artifact_url,
    )


def new_build_from_upload(metadata: builds_pb2.UploadBuildMetadata) -> NewBuild:
    """The description of a build whose artifact is uploaded."""
    return _new_build(metadata, app_id=metadata.app_id, expected_bytes=metadata.expected_bytes)


def new_build_from_parts(request: builds_pb2.CompleteUploadRequest) -> NewBuild:
    """The description of a build whose artifact was uploaded in parts; the upload knows app and size."""
    return _new_build(request, app_id="", expected_bytes=0)


def _new_build(
    described: builds_pb2.UploadBuildMetadata | builds_pb2.CompleteUploadRequest, *, app_id: str, expected_bytes: int
) -> NewBuild:
    return NewBuild(
        app_id=app_id,
        version=read_optional(described, "version"),
        metadata=struct_to_json(described.metadata),
        package_name=read_optional(described, "package_name"),
        file_name=described.file_name or None,
        expected_bytes=expected_bytes,
        version_suffix=read_optional(described, "version_suffix"),
    )


def part_upload_message(upload: PartUpload) -> builds_pb2.PartUpload:
    """The upload as a message."""
    return builds_pb2.PartUpload(
        id=upload.id,
        app_id=upload.app_id,
        sha256=upload.sha256,
        size_bytes=upload.size,
        part_bytes=upload.part_bytes,
        part_count=upload.count,
        missing_parts=upload.missing,
        expires_at=to_timestamp(upload.expires_at),
    )


_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


def download_headers(build: Build, part: FilePart) -> tuple[tuple[str, str], ...]:
    """Length, range, ETag (the content's SHA-256) and the name to save the file under."""
    return (*part.headers(build.sha256 or ""), ("http-content-disposition", _disposition(_file_name(build))))


def _file_name(build: Build) -> str:
    """The uploaded file's own name without its folders."""
    name = re.split(r"[/\\]", build.file_name or "")[-1]
    return name or f"{build.version}.bin"


def _disposition(name: str) -> str:
    """RFC 6266: a plain name for all, the exact one for those who understand it."""
    return f"attachment; filename=\"{_PLAIN.sub('_', name)}\"; filename*=UTF-8''{quote(name, safe='')}"
