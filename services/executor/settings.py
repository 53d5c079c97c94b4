"""The environment variables of the executor."""

import os
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import gettempdir
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from mobiletest_automation.llm.settings import ModelSettings
from mobiletest_automation.model.run_config import Screens
from mobiletest_automation.web_addresses import AddressPolicy
from services.chassis.settings import ProcessSettings
from services.executor.events import RUN_REQUEST_PARTITIONS
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.model.runs import RunLimits
from services.executor.worker.processes.process_limits import AttemptLimits, CpuAllowance


class Settings(ProcessSettings, ModelSettings):
    """Both roles have the same settings; each ignores those of the other."""

    executor_role: Literal["api", "worker", "all"] = "all"
    """api serves gRPC, worker executes runs, all does both."""
    executor_database: str = "executor"
    """The executor's database."""
    executor_group: str = "executor-workers"
    """The workers' consumer groups are named after it: one per platform (executor-workers-android)."""
    run_request_partitions: int = Field(default=RUN_REQUEST_PARTITIONS, ge=1, le=1000)
    """The maximum number of workers that share a platform's requests; each partition costs a worker CPU per fetch."""
    catalog_address: str = "127.0.0.1:50051"
    """host:port of the catalog."""
    object_store: str = "file:///var/lib/mobiletest"
    """Where artifacts are stored: file:///folder, s3://bucket, gs://bucket or az://container."""
    executor_slots: int = Field(default=8, ge=1, le=1000)
    """How many runs a worker executes at once."""
    attempt_cpu_seconds: float = Field(default=60.0, ge=1)
    """The CPU time that an attempt may use beside its share of the time that passes; beyond it the test fails."""
    attempt_cpu_share: float = Field(default=0.25, ge=0, le=1)
    """The share of the time that an attempt takes which it may use as CPU time."""
    attempt_memory_bytes: int = Field(default=512 * 1024**2, ge=256 * 1024**2)
    """The memory that an attempt may allocate, about 100 MiB of its process included; beyond it the test fails."""
    device_pools: str | None = None
    """The YAML file of device pools (docs/devices.md); without it only simulated devices, if these are allowed."""
    simulated_devices: bool = False
    """Whether simulated devices may be used, which run a model instead of the app: for trying out, not for verdicts."""
    allowed_addresses: str = ""
    """Private hosts and networks that tests may open, separated by commas: shop.internal, *.internal, 10.1.0.0/16."""
    artifact_cache_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """How much memory a worker may use for the builds that it has read last."""
    artifact_days: float = Field(default=30.0, ge=0)
    """How long artifacts are kept after the end of their run; 0: forever."""
    screen_days: float = Field(default=30.0, ge=0)
    """How long screens are kept after the last run that refers to them; 0: forever."""
    artifact_spool: str | None = None
    """Where artifacts wait while the object store is unavailable; by default in the folder for temporary files."""
    artifact_spool_bytes: int = Field(default=256 * 1024 * 1024, ge=0)
    """The size limit of that folder; artifacts beyond it are dropped."""
    artifact_spool_seconds: float = Field(default=24 * 3600.0, gt=0)
    """How long an artifact waits for the object store before it is dropped."""
    executor_files_folder: str | None = None
    """Where files of builds and tests are cached, in one folder per instance; by default a temporary folder."""
    executor_files_bytes: int = Field(default=8 * 1024**3, ge=0)
    """The size limit of that folder; the files that were not used for longest are deleted."""
    executor_files_listen: str | None = None
    """host:port where hubs that cannot read that folder download files; without it nothing is served."""
    executor_files_url: str | None = Field(default=None, validate_default=True)
    """How hubs reach that address; required when it is a wildcard."""
    lease_seconds: float = Field(default=15.0, ge=0.5)
    """A run whose worker has been silent for this long is given to another worker."""
    poll_seconds: float = Field(default=1.0, gt=0)
    """How often workers look for waiting runs and notices, and how often expired leases are looked for.

    If the process that looked for them is lost, another one begins at most 3 s and two such intervals later.
    """
    queue_timeout_seconds: float = Field(default=3600.0, gt=0)
    """How long a run waits for a worker before it ends as queue_timeout, or as device_unavailable if no worker
    has devices of its platform."""
    run_timeout_seconds: float = Field(default=1800.0, gt=0)
    """The time limit of a run, over all of its attempts."""
    step_timeout_seconds: float = Field(default=30.0, gt=0)
    """The time limit of a step that sets none itself."""
    step_cache_days: float = Field(default=30.0, gt=0, le=3650)
    """How long the step cache keeps unused entries."""
    human_timeout_seconds: float = Field(default=300.0, gt=0)
    """How long a run with execution_mode.human_in_the_loop waits for an answer."""
    infrastructure_retries: int = Field(default=2, ge=0, le=10)
    """How many more attempts a run gets after failures of the infrastructure."""
    organisation_runs: int | None = Field(default=100, ge=1)
    """The maximum number of concurrent runs of one organisation, over all workers. This and the following are defaults:
    operators set the limits of single organisations in the catalog."""
    organisation_queued_runs: int = Field(default=10_000, ge=0)
    """The maximum number of waiting runs of one organisation."""
    organisation_model_calls: int = Field(default=10_000, ge=0)
    """The maximum number of calls of one organisation to language models per day (UTC)."""
    organisation_model_tokens: int = Field(default=50_000_000, ge=0)
    """The maximum number of tokens in these calls, questions and answers together."""
    organisation_baseline_bytes: int = Field(default=1024**3, ge=0)
    """The maximum size of one organisation's accepted baselines of screenshots together."""
    organisation_runs_per_day: int = Field(default=100_000, ge=0)
    """The maximum number of runs that one organisation starts per day (UTC)."""
    organisation_stored_runs: int = Field(default=10_000_000, ge=0)
    """The maximum number of stored runs of one organisation. They are history and are not deleted."""
    organisation_evidence_bytes: int = Field(default=100 * 1024**3, ge=0)
    """The maximum size of the artifacts of one organisation's runs together; beyond it, the oldest are deleted."""
    organisation_screen_bytes: int = Field(default=20 * 1024**3, ge=0)
    """The maximum size of one organisation's kept screens together; beyond it, the least recently used are deleted."""
    organisation_screens: Screens = Screens.ALL
    """Of which steps screens are kept where neither workflow nor start say it: all, failed (attempts) or off."""
    infrastructure_backoff_seconds: float = Field(default=1.0, ge=0)
    """The wait before another attempt after a failure of the infrastructure, except after the loss of a worker."""

    @field_validator("allowed_addresses")
    @classmethod
    def _are_addresses(cls, value: str) -> str:
        AddressPolicy.parse(value.split(","))
        return value

    @field_validator("executor_files_url")
    @classmethod
    def _reachable(cls, value: str | None, info: ValidationInfo) -> str | None:
        listen = info.data.get("executor_files_listen") or ""
        if value is None and listen.rpartition(":")[0].strip("[]") in ("", "0.0.0.0", "::") and listen:  # noqa: S104
            raise ValueError(f"required with MOBILETEST_EXECUTOR_FILES_LISTEN={listen}, which hubs cannot connect to")
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("expected an address such as http://10.0.0.5:8090")
        return value

    @property
    def limits(self) -> RunLimits:
        return RunLimits(
            queue_timeout=timedelta(seconds=self.queue_timeout_seconds),
            run_timeout=timedelta(seconds=self.run_timeout_seconds),
            lease_ttl=timedelta(seconds=self.lease_seconds),
            infrastructure_retries=self.infrastructure_retries,
            infrastructure_backoff=timedelta(seconds=self.infrastructure_backoff_seconds),
            organisation_runs=self.organisation_runs,
        )

    @property
    def organisation_limits(self) -> OrganisationLimits:
        return OrganisationLimits(
            queued_runs=self.organisation_queued_runs,
            concurrent_runs=self.organisation_runs,
            model_calls_per_day=self.organisation_model_calls,
            model_tokens_per_day=self.organisation_model_tokens,
            baseline_bytes=self.organisation_baseline_bytes,
            evidence_bytes=self.organisation_evidence_bytes,
            runs_per_day=self.organisation_runs_per_day,
            stored_runs=self.organisation_stored_runs,
            screen_bytes=self.organisation_screen_bytes,
            screens=self.organisation_screens,
        )

    @property
    def attempt_limits(self) -> AttemptLimits:
        cpu = CpuAllowance(self.attempt_cpu_seconds, self.attempt_cpu_share)
        return AttemptLimits(cpu, self.attempt_memory_bytes)

    @property
    def spool_folder(self) -> Path:
        """By default one per user and object store, so that artifacts never reach the wrong store."""
        if self.artifact_spool:
            return Path(self.artifact_spool)
        store_hash = sha256(self.object_store.encode()).hexdigest()[:12]
        return Path(gettempdir()) / f"mobiletest-spool-{os.getuid()}-{store_hash}"

    @property
    def drain_seconds(self) -> float:
        """How long runs may continue after SIGTERM: the grace period minus the time for handing back and closing."""
        return max(0.0, self.shutdown_grace_seconds - 5.0)

    @property
    def serves(self) -> bool:
        return self.executor_role in ("api", "all")

    @property
    def works(self) -> bool:
        return self.executor_role in ("worker", "all")
