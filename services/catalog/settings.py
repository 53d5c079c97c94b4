"""The variables that the catalog reads."""

import tempfile
from pathlib import Path

from pydantic import Field

from services.chassis.settings import ProcessSettings


class Settings(ProcessSettings):
    """In addition to those of every process: where artifacts are stored, and how large one may be."""

    mongo_database: str = Field(default="catalog", validation_alias="MOBILETEST_CATALOG_DATABASE")
    object_store: str = "file:///var/lib/mobiletest"
    artifact_max_bytes: int = Field(default=4 * 1024**3, ge=1)
    spool_folder: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()))
