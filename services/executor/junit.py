"""An execution as JUnit XML."""

from collections.abc import Iterable

from mobiletest_automation import junit
from services.executor.model.executions import Execution
from services.executor.model.runs import Run


def render(execution: Execution, runs: Iterable[Run], base_url: str = "") -> bytes:
    """The execution as xunit2 XML; `runs` in order, with steps if known. Links begin with `base_url`."""
    name = execution.workflow_name or execution.name
    return junit.render(
        junit.Results(
            name=name or "test",
            title=name or execution.id,
            created_at=execution.created_at,
            properties=_execution_properties(execution, base_url),
            runs=[_run_result(execution, run, base_url) for run in runs],
        )
    )


def _run_result(execution: Execution, run: Run, base_url: str) -> junit.RunResult:
    target = run.target
    page = f"{base_url}/executions/{run.execution_id}/runs/{run.id}"  # of the dashboard
    return junit.RunResult(
        test_id=target.test_id,
        test_name=target.test_name,
        app=target.app_name or target.app_id,
        platform=target.platform,
        source_path=target.source_path,
        version=target.resolved_build_version,
        status=run.status,
        success=run.success,
        failure=run.failure,
        attempts=run.attempts,
        seconds=run.execution_time_seconds,
        completed_at=run.completed_at,
        page=page,
        properties={**dict(target.properties), **junit.given(_run_properties(execution, run, page))},
    )


def _execution_properties(execution: Execution, base_url: str) -> dict[str, str | None]:
    ci = execution.ci
    return {
        "execution_id": execution.id,
        "url": f"{base_url}/executions/{execution.id}",
        "status": execution.status.value,
        "source": execution.source.value,
        "workflow_id": execution.workflow_id,
        "shard": str(execution.shard or ""),
        "commit_sha": ci.commit_sha,
        "branch": ci.branch,
        "run_url": ci.run_url,
    }


def _run_properties(execution: Execution, run: Run, page: str) -> dict[str, str | None]:
    return {
        "execution_id": execution.id,
        "run_id": run.id,
        "url": page,
        "test_id": run.target.test_id,
        "file": run.target.source_path,
        "test_version": str(run.target.test_version_number),
        "variant": run.variant.label,
        "platform": run.target.platform,
        "build_id": run.target.build_id,
        "build_version": run.target.resolved_build_version,
    }
