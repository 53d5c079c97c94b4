"""The variables that the catalog reads."""

import tempfile
from pathlib import Path

from pydantic import Field, SecretStr

from services.chassis.settings import ProcessSettings


class Settings(ProcessSettings):
    """In addition to those of every process: where artifacts are stored, and how large one may be."""

    service_token: SecretStr = SecretStr("")
    """None: the catalog calls no other service."""
    callers: str
    mongo_database: str = Field(default="catalog", validation_alias="MOBILETEST_CATALOG_DATABASE")
    """The catalog's database."""
    object_store: str = "file:///var/lib/mobiletest"
    """Where artifacts are stored: file:///folder, s3://bucket, gs://bucket or az://container."""
    artifact_max_bytes: int = Field(default=4 * 1024**3, ge=1)
    """The largest artifact that is accepted."""
    spool_folder: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Where uploads are written while they are inspected; by default the folder for temporary files."""
