"""Builds as messages."""

from mobiletest.catalog.v1 import builds_pb2

from services.catalog.messages.values import mapping_of, optional, struct_of, timestamp
from services.catalog.model.builds import Build
from services.catalog.usecases.uploads import NewBuild


def build_message(build: Build) -> builds_pb2.Build:
    """The build as a message."""
    return builds_pb2.Build(
        id=build.id,
        app_id=build.app_id,
        version=build.version,
        artifact_url=build.artifact_url,
        metadata=struct_of(build.metadata),
        owner=build.owner,
        uploaded_at=timestamp(build.uploaded_at),
        download_url=build.download_url,
        package_name=build.package_name,
        was_reused=build.was_reused,
        revision=build.revision,
        sha256=build.sha256 or "",
        size_bytes=build.size or 0,
        file_name=build.file_name or "",
    )


def referred(request: builds_pb2.CreateBuildRequest) -> NewBuild:
    """What is said of a build whose artifact is kept elsewhere."""
    return NewBuild(
        app_id=request.app_id,
        version=request.version,
        metadata=mapping_of(request.metadata),
        package_name=optional(request, "package_name"),
        artifact_url=request.artifact_url,
    )


def uploaded(metadata: builds_pb2.UploadBuildMetadata) -> NewBuild:
    """What is said of a build whose artifact follows."""
    return NewBuild(
        app_id=metadata.app_id,
        version=optional(metadata, "version"),
        metadata=mapping_of(metadata.metadata),
        package_name=optional(metadata, "package_name"),
        file_name=metadata.file_name or None,
    )
