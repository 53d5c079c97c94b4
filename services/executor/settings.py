"""The variables that the executor reads."""

import os
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import Literal

from pydantic import Field

from services.chassis.settings import ProcessSettings
from services.executor.events import RUN_REQUEST_PARTITIONS
from services.executor.model.runs import Limits


class Settings(ProcessSettings):
    """Both roles read the same; what only workers need is ignored by the API and the other way round."""

    executor_role: Literal["api", "worker", "all"] = "all"
    executor_database: str = "executor"
    executor_group: str = "executor-workers"
    run_request_partitions: int = Field(default=RUN_REQUEST_PARTITIONS, ge=1, le=1000)
    """As many workers can share the requests of a platform; each partition costs a worker some CPU at every fetch."""
    catalog_address: str = "127.0.0.1:50051"
    object_store: str = "file:///var/lib/mobiletest"
    executor_slots: int = Field(default=8, ge=1, le=1000)
    device_pools: str | None = None
    artifact_cache_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    artifact_days: float = Field(default=30.0, ge=0)
    """How long artifacts are kept after the end of their run; 0: for ever."""
    artifact_spool: str | None = None
    """Where artifacts wait for an object store that is away; by default in the folder for temporary files."""
    artifact_spool_bytes: int = Field(default=1024 * 1024 * 1024, ge=0)
    artifact_spool_seconds: float = Field(default=24 * 3600.0, gt=0)
    """How long an artifact waits for the object store before it is given up."""
    lease_seconds: float = Field(default=15.0, ge=0.5)
    poll_seconds: float = Field(default=1.0, gt=0)
    queue_timeout_seconds: float = Field(default=3600.0, gt=0)
    run_timeout_seconds: float = Field(default=1800.0, gt=0)
    step_timeout_seconds: float = Field(default=30.0, gt=0)
    step_cache_days: float = Field(default=30.0, gt=0, le=3650)
    """How long the step cache keeps what nobody asks for."""
    human_timeout_seconds: float = Field(default=300.0, gt=0)
    """How long a run with execution_mode.human_in_the_loop waits for a person's answer."""
    infrastructure_retries: int = Field(default=2, ge=0, le=10)
    organisation_runs: int | None = Field(default=None, ge=1)
    """The most runs that one organisation has under way at a time, over all workers."""
    infrastructure_backoff_seconds: float = Field(default=1.0, ge=0)

    @property
    def limits(self) -> Limits:
        return Limits(
            queue_timeout=timedelta(seconds=self.queue_timeout_seconds),
            run_timeout=timedelta(seconds=self.run_timeout_seconds),
            lease_ttl=timedelta(seconds=self.lease_seconds),
            infrastructure_retries=self.infrastructure_retries,
            infrastructure_backoff=timedelta(seconds=self.infrastructure_backoff_seconds),
            organisation_runs=self.organisation_runs,
        )

    @property
    def spool_folder(self) -> Path:
        """By default one for each user and object store, so that nothing gets into another's."""
        if self.artifact_spool:
            return Path(self.artifact_spool)
        of_store = sha256(self.object_store.encode()).hexdigest()[:12]
        return Path(gettempdir()) / f"mobiletest-spool-{os.getuid()}-{of_store}"

    @property
    def drain_seconds(self) -> float:
        """How long runs may go on after SIGTERM: the grace less what handing back and closing need."""
        return max(0.0, self.shutdown_grace_seconds - 5.0)

    @property
    def serves(self) -> bool:
        return self.executor_role in ("api", "all")

    @property
    def works(self) -> bool:
        return self.executor_role in ("worker", "all")
