"""The two free-form objects of a run in reports: `metadata` (its origin) and `report_metadata` (its outcome)."""

from mobiletest_automation.model import attempts
from mobiletest_automation.model.results import Artifact
from services.executor.model.attribution import Ci
from services.executor.model.executions import Execution
from services.executor.model.runs import Run

Value = str | int | bool | None
Document = dict[str, "Value | list[dict[str, Value]]"]


def metadata(execution: Execution, run: Run) -> Document:
    """CI attribution, client, workflow, attempts, platform and device of a run, without unknown values."""
    last = run.attempts[-1] if run.attempts else None
    fields: Document = {
        **{name: getattr(execution.ci, name) for name in Ci.__slots__},
        "service_client": execution.service_client,
        "workflow_id": execution.workflow_id,
        "attempts": run.attempt_number,
        "platform": run.target.platform,
        "device": last.device if last else None,
        "simulated": last.simulated if last else None,
        "built_in_model": last.built_in_model if last else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def simulation(run: Run) -> str | None:
    """What a simulated device ran instead of the app, in a sentence; None if the last attempt had no such device."""
    return attempts.simulation(run.attempts, run.target.resolved_build_version)


def artifact_url(run: Run, artifact: Artifact) -> str:
    """The REST path of an artifact (DownloadArtifact in the protos); empty when it is gone."""
    if artifact.gone:
        return ""
    return f"/api/v1/executions/{run.execution_id}/runs/{run.id}/artifacts/{artifact.name}"


def report_metadata(run: Run) -> Document:
    """Category and reason of the failure, whether the run was flaky, and links to its artifacts."""
    failure = run.failure
    return {
        "category": failure.category if failure else None,
        "top_failure": (failure.reason or failure.message) if failure else None,
        "flaky": run.flaky,
        "human_helped": any(attempt.human_helped for attempt in run.attempts),
        "artifacts": [
            {
                "kind": artifact.kind,
                "name": artifact.name,
                "attempt": attempt.number,
                "url": artifact_url(run, artifact),
            }
            for attempt in run.attempts
            for artifact in attempt.artifacts
            if not artifact.gone
        ],
    }
