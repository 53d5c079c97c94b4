"""What the catalog resolves a start to: the runs, each a snapshot that later edits do not change."""

from dataclasses import dataclass

from services.executor.model.run_config import RunConfig
from services.executor.model.runs import RunTarget


@dataclass(frozen=True, slots=True)
class BuildArtifact:
    """The file of a build: `sha256` in hexadecimal when the catalog stores it, else possibly an external URL."""

    sha256: str = ""
    file_name: str = ""
    artifact_url: str | None = None
    package_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run to start. `steps` are free-form JSON. `config_error` says why it cannot start and what to do about it;
    empty when it can.
    """

    target: RunTarget
    steps: tuple[object, ...] = ()
    timeout_seconds: int | None = None
    static_url: str | None = None
    system_prompt: str | None = None
    artifact: BuildArtifact = BuildArtifact()
    config_error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRuns:
    """The runs of a workflow or a test; the first two fields are empty for a test."""

    workflow_id: str = ""
    workflow_name: str = ""
    run_config: RunConfig = RunConfig()  # noqa: RUF009 (frozen)
    max_parallel: int | None = None
    plans: tuple[RunPlan, ...] = ()
