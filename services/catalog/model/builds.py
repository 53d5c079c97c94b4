"""Builds: versions of an app's artifact."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from services.catalog.model.json_types import Json
from services.catalog.model.refusals import Refused

METADATA_LIMIT = 64 * 1024
METADATA_ERROR = "metadata_error"


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


def artifact_key(org_id: str, sha256: str) -> str:
    """Where an organisation's artifact lies in the object store: by its content, so the same file lies there once."""
    return f"{org_id}/{sha256}"


def checked_metadata(metadata: Mapping[str, Json], field_name: str = "metadata") -> Mapping[str, Json]:
    """The metadata as it is; refused when it is more than 64 KiB of JSON."""
    size = len(json.dumps(metadata, ensure_ascii=False).encode())
    if size > METADATA_LIMIT:
        raise Refused(
            field_name, f"metadata must have at most {METADATA_LIMIT} bytes as JSON; this has {size}", "too_long"
        )
    return metadata
