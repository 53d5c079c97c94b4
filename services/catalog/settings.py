"""The variables that the catalog reads."""

import tempfile
from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.secret_cipher import parse_keys
from services.chassis.limit_refusals import ANY_MODEL
from services.chassis.settings import ProcessSettings


class Settings(ProcessSettings):
    """In addition to those of every process: artifacts, and the default limits of organisations."""

    service_token: SecretStr = SecretStr("")
    """None: the catalog calls no other service."""
    callers: str
    """The services that may call this one, as for every process; required."""
    mongo_database: str = Field(default="catalog", validation_alias="MOBILETEST_CATALOG_DATABASE")
    """The catalog's database."""
    object_store: str = "file:///var/lib/mobiletest"
    """Where artifacts are stored: file:///folder, s3://bucket, gs://bucket or az://container."""
    artifact_max_bytes: int = Field(default=4 * 1024**3, ge=1)
    """The largest artifact that is accepted. Of one that is not uploaded in parts S3 takes at most 5 GB."""
    simulated_devices: bool = False
    """Whether workers have simulated devices: then any file is accepted as a build, for trying out."""
    spool_folder: Path = Field(default_factory=lambda: Path(tempfile.gettempdir()))
    """Where the joined parts of uploads, and what is in no object store that is a folder, are inspected; by default the
    folder for temporary files."""
    spool_bytes: int = Field(default=8 * 1024**3, ge=1)
    """The maximum number of bytes of uploads under way: what the volume of `spool_folder` must have room for."""
    organisation_upload_bytes_per_second: int = Field(default=32 * 1024**2, ge=1)
    """How fast one organisation uploads to this process, after a burst of two seconds; faster uploads wait. What the
    gateway writes to the object store has the same limit there."""
    organisation_artifact_bytes: int = Field(default=100 * 1024**3, ge=0)
    """The maximum number of bytes of the artifacts that one organisation's builds use."""
    organisation_api_keys: int = Field(default=100, ge=1)
    """The maximum number of API keys of one organisation."""
    organisation_apps: int = Field(default=1_000, ge=0)
    """The maximum number of apps of one organisation."""
    organisation_tests: int = Field(default=100_000, ge=0)
    """The maximum number of tests of one organisation."""
    organisation_workflows: int = Field(default=10_000, ge=0)
    """The maximum number of workflows of one organisation."""
    organisation_builds: int = Field(default=100_000, ge=0)
    """The maximum number of builds of one organisation, in all its apps."""
    organisation_test_bytes: int = Field(default=5 * 1024**3, ge=0)
    """The maximum number of bytes of the steps of all stored versions of one organisation's tests."""
    secret_keys: SecretStr = SecretStr("")
    """The keys that encrypt secrets, as ID=KEY separated by commas; a key is 32 random bytes in base64. The first one
    encrypts, the others only decrypt (see `rotate-secrets`). Empty: secrets cannot be stored."""
    organisation_models: str = ANY_MODEL
    """The models that llm_config may name, separated by commas; * allows any."""

    @field_validator("secret_keys")
    @classmethod
    def _check_secret_keys(cls, value: SecretStr) -> SecretStr:
        parse_keys(value.get_secret_value())
        return value

    @property
    def limits(self) -> OrganisationLimits:
        """The defaults of the limits that the catalog enforces."""
        models = tuple(name.strip() for name in self.organisation_models.split(",") if name.strip())
        return OrganisationLimits(
            artifact_bytes=self.organisation_artifact_bytes,
            api_keys=self.organisation_api_keys,
            apps=self.organisation_apps,
            tests=self.organisation_tests,
            workflows=self.organisation_workflows,
            builds=self.organisation_builds,
            test_bytes=self.organisation_test_bytes,
            allowed_models=models,
        )
