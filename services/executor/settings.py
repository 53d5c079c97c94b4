"""The variables that the executor reads."""

from datetime import timedelta
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
    lease_seconds: float = Field(default=15.0, ge=0.5)
    poll_seconds: float = Field(default=1.0, gt=0)
    queue_timeout_seconds: float = Field(default=3600.0, gt=0)
    run_timeout_seconds: float = Field(default=1800.0, gt=0)
    step_timeout_seconds: float = Field(default=30.0, gt=0)
    infrastructure_retries: int = Field(default=2, ge=0, le=10)
    infrastructure_backoff_seconds: float = Field(default=1.0, ge=0)

    @property
    def limits(self) -> Limits:
        return Limits(
            queue_timeout=timedelta(seconds=self.queue_timeout_seconds),
            run_timeout=timedelta(seconds=self.run_timeout_seconds),
            lease_ttl=timedelta(seconds=self.lease_seconds),
            infrastructure_retries=self.infrastructure_retries,
            infrastructure_backoff=timedelta(seconds=self.infrastructure_backoff_seconds),
        )

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
