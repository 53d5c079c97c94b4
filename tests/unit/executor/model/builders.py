"""Makes executions and runs for the tests of the model, with defaults for fields that a test does not need."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import RunCounts, bucket
from services.executor.model import lifecycle
from services.executor.model.attribution import ExecutionSource
from services.executor.model.executions import Execution, ExecutionKind
from services.executor.model.runs import Run, RunLimits, RunTarget

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LIMITS = RunLimits()


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def new_run(*, retries: int = 1, position: int = 0) -> Run:
    """A run that is not released yet."""
    target = RunTarget(str(uuid4()), "Log in", 3, Platform.IOS, app_id=str(uuid4()), app_name="Shop")
    return Run(
        id=str(uuid4()),
        execution_id=str(uuid4()),
        org_id=str(uuid4()),
        position=position,
        target=target,
        retries=retries,
        created_at=NOW,
    )


def queued_run(*, retries: int = 1) -> Run:
    return lifecycle.queue(new_run(retries=retries), NOW)


def claimed_run(*, retries: int = 1) -> Run:
    return lifecycle.claim(queued_run(retries=retries), "worker-1", NOW, LIMITS)


def execution_of(*runs: Run) -> Execution:
    """A queued execution with the counts of these runs."""
    counts = RunCounts()
    for run in runs:
        counts = counts.added(bucket(run.status, run.success))
    return Execution(
        id=str(uuid4()),
        org_id=str(uuid4()),
        kind=ExecutionKind.WORKFLOW,
        workflow_name="Nightly",
        source=ExecutionSource.API,
        created_at=NOW,
        counts=counts,
    )


def failing(category: Category = Category.ASSERTION_FAILED) -> AttemptResult:
    return AttemptResult(failure=Failure(category, f"It was {category}."), device="phone-1", simulated=True)


def passing() -> AttemptResult:
    return AttemptResult(device="phone-1", simulated=True)
