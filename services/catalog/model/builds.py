"""Builds: versions of an app's artifact."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from services.catalog.model.values import InvalidValue, Json, Platform

METADATA_LIMIT = 64 * 1024
METADATA_ERROR = "metadata_error"
# The maximum number of apps that are found by a package name.
APPS_OF_PACKAGE = 100


@dataclass(frozen=True, slots=True)
class Build:
    """One version of an app.

    `sha256` and `size` (bytes) describe the artifact that is stored here; both are None when there is none (a build
    made from `artifact_url`, which the service never fetches). `owner` is the id of the API key that made the build.
    """

    id: str
    org_id: str
    app_id: str
    version: str
    uploaded_at: datetime
    artifact_url: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    owner: str | None = None
    package_name: str | None = None
    was_reused: bool = False
    sha256: str | None = None
    size: int | None = None
    file_name: str | None = None
    revision: int = 1
    deleted_at: datetime | None = None

    @property
    def download_url(self) -> str | None:
        """The path of the download on the service's own address; None when the artifact is not stored here."""
        return f"/api/v1/apps/builds/{self.id}/download" if self.sha256 is not None else None


@dataclass(frozen=True, slots=True)
class BuildFilter:
    """Which builds: of this content (SHA-256 in hexadecimal), of exactly this version."""

    sha256: str | None = None
    version: str | None = None


ALL_BUILDS = BuildFilter()


def mark_build_deleted(build: Build, at: datetime) -> Build:
    """The build as it is stored after its deletion: what histories and read models need of it."""
    gone = replace(build, metadata={}, artifact_url=None, file_name=None)
    return replace(gone, deleted_at=at, revision=build.revision + 1)


def artifact_key(org_id: str, sha256: str) -> str:
    """The artifact's key in the object store: by content, so the same file is stored once per organisation."""
    return f"{org_id}/{sha256}"


def validate_metadata(metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """The metadata as it is.

    Raises:
        InvalidValue: it is more than 64 KiB of JSON.
    """
    size = len(json.dumps(metadata, ensure_ascii=False).encode())
    if size > METADATA_LIMIT:
        raise InvalidValue(
            "metadata", f"metadata must be at most {METADATA_LIMIT} bytes as JSON; this is {size}", "too_long"
        )
    return metadata


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A completely received file: its path in the spool, its SHA-256 (hexadecimal) and size in bytes."""

    path: Path
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """The contents of an artifact's manifest, None where a value is absent.

    `error` says why it could not be read. `kind` says what an artifact is that is no archive: "an HTML page".
    """

    package_name: str | None = None
    version: str | None = None
    error: str | None = None
    platform: Platform | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedArtifact:
    """An artifact that no device installs, or that no build tool produces (a zip bomb).

    `reason` says what it is and what to send instead, or which limit it exceeds.
    """

    reason: str
