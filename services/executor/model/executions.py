"""An execution: one start of a workflow or a test, and how its state follows from its runs."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from mobiletest_automation.model import attempts
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Failure, cancellation
from mobiletest_automation.model.results import Artifact
from mobiletest_automation.model.run_config import RunConfig
from mobiletest_automation.model.states import RunCounts, Status, advance, bucket, outcome
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.runs import Run

# How many builds an execution names.
BUILDS_NAMED = 5

Value = str | int | bool | None
Document = dict[str, "Value | list[dict[str, Value]]"]


class CancelPrevious(StrEnum):
    """Whether an execution has cancelled the executions that it supersedes."""

    PENDING = "pending"
    DONE = "done"


class ExecutionKind(StrEnum):
    """What was started."""

    WORKFLOW = "workflow"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class PinnedBuild:
    """The app and version that a build configuration names for a platform; None means not set."""

    app_id: str | None = None
    pinned_version: str | None = None


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """The builds that a start requested."""

    ios_build: PinnedBuild | None = None
    android_build: PinnedBuild | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `index`, from 1, of `count` parts of the tests of a start; as a text "2/5"."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class TestSelection:
    """A test to start, and the version of its steps; None: the newest.

    `positions_digest` is that of the import that is meant; None: of whichever was the latest.
    """

    __test__ = False

    test_id: str
    version_number: int | None = None
    positions_digest: str | None = None


@dataclass(frozen=True, slots=True)
class StartSubject:
    """What to start: a workflow or a test by id, or several tests; all of it, or a shard."""

    kind: ExecutionKind
    id: str = ""
    tests: tuple[TestSelection, ...] = ()
    shard: Shard | None = None


@dataclass(frozen=True, slots=True)
class ExecutionBuild:
    """An app and a build of an execution's runs, as they were at the start; None for what was not found."""

    app_id: str
    app_name: str
    platform: Platform | None = None
    build_id: str | None = None
    version: str | None = None


class ExecutionResult(StrEnum):
    """How an execution ended, or that it has not ended. Any of them can also be FLAKY: a run passed after it failed."""

    PASSED = "passed"
    FAILED = "failed"
    NO_VERDICT = "no_verdict"
    FLAKY = "flaky"
    CANCELLED = "cancelled"
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One start. `revision` is the number of its latest event; `max_parallel` limits the runs released at a time
    (None: all); `app_ids` are the apps of its runs; `cancel_previous` is None when it was not requested; `name` is that
    of several tests; `sequence` is the number of stages that run one after the other, before the last one;
    `notice` is a sentence about tests that have no run. `counted_runs` is as how many runs it counts. `verifies` is the
    failed run for which it checks a proposal. `test_name` is that of the only test; `builds` are those of its runs, the
    first BUILDS_NAMED; `started_by` is the name of the API key; `flaky_runs` are those that passed after they failed.
    """

    id: str
    org_id: str
    kind: ExecutionKind
    source: ExecutionSource
    created_at: datetime
    workflow_id: str | None = None
    workflow_name: str | None = None
    name: str | None = None
    shard: Shard | None = None
    ci: Ci = field(default_factory=Ci)
    service_client: str | None = None
    run_config: RunConfig = field(default_factory=RunConfig)
    build_config: BuildConfig = field(default_factory=BuildConfig)
    max_parallel: int | None = None
    sequence: int = 0
    continue_on_failure: bool = True
    priority: int = 0
    rerun_of: str | None = None
    verifies: str | None = None
    cancel_previous: CancelPrevious | None = None
    superseded_by: str | None = None
    status: Status = Status.QUEUED
    success: bool | None = None
    failure: Failure | None = None
    counts: RunCounts = field(default_factory=RunCounts)
    started_at: datetime | None = None
    completed_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    app_ids: tuple[str, ...] = ()
    notice: str = ""
    counted_runs: int = 0
    test_name: str | None = None
    builds: tuple[ExecutionBuild, ...] = ()
    started_by: str | None = None
    flaky_runs: int = 0
    revision: int = 0

    @property
    def title(self) -> str | None:
        """What it is called in lists."""
        return self.workflow_name or self.name or self.test_name

    @property
    def result(self) -> ExecutionResult:
        """How it ended; never FLAKY."""
        if not self.status.terminal:
            return ExecutionResult.RUNNING
        if self.status is Status.COMPLETED:
            return ExecutionResult.PASSED if self.success else ExecutionResult.FAILED
        return ExecutionResult.CANCELLED if self.status is Status.CANCELLED else ExecutionResult.NO_VERDICT

    @property
    def execution_time_seconds(self) -> float | None:
        """Never negative, although the times may come from the clocks of two servers."""
        if self.started_at is None or self.completed_at is None:
            return None
        return max(0.0, (self.completed_at - self.started_at).total_seconds())


def apply_run_change(execution: Execution, before: Run, after: Run, now: datetime) -> Execution:
    """The execution after one of its runs changed."""
    counts = execution.counts.moved(bucket(before.status, before.success), bucket(after.status, after.success))
    flaky_runs = execution.flaky_runs + after.flaky - before.flaky
    moved = replace(execution, counts=counts, flaky_runs=flaky_runs)
    if moved.status is Status.QUEUED and after.started_at is not None:
        moved = replace(moved, status=advance(moved.status, Status.RUNNING), started_at=now)
    failure = after.failure if after.status is Status.FAILED else None
    return end_if_done(replace(moved, failure=moved.failure or failure), now)


def end_if_done(execution: Execution, now: datetime) -> Execution:
    """End the execution if all runs have ended. It has a failure only when it reached no verdict."""
    if execution.status.terminal or execution.counts.open:
        return execution
    status, success = outcome(execution.counts, cancel_requested=execution.cancel_requested_at is not None)
    return replace(
        execution,
        status=advance(execution.status, status),
        success=success,
        failure=_failure(execution, status),
        completed_at=now,
    )


def _failure(execution: Execution, status: Status) -> Failure | None:
    if status is Status.CANCELLED and execution.cancel_requested_at is not None:
        return cancellation(execution.superseded_by)
    return execution.failure if status is Status.FAILED else None


def status_message(execution: Execution) -> str:
    """One sentence about the state of the execution, and its notice."""
    return f"{_state_message(execution)} {execution.notice}".rstrip()


def _state_message(execution: Execution) -> str:
    counts = execution.counts
    runs = "1 run" if counts.total == 1 else f"{counts.total} runs"
    if execution.status.terminal:
        why = f" {cancellation(execution.superseded_by).message}" if execution.superseded_by else ""
        return f"{execution.status.capitalize()}: {_tally(counts)} of {runs}.{why}"
    if execution.cancel_requested_at is not None:
        return f"Cancelling: {counts.total - counts.open} of {runs} ended."
    if execution.status is Status.RUNNING:
        return f"Running: {counts.total - counts.open} of {runs} ended."
    return f"Queued: {runs}."


def _tally(counts: RunCounts) -> str:
    parts = {
        "passed": counts.passed,
        "failed": counts.failed,
        "ended without a verdict": counts.infra_failed,
        "cancelled": counts.cancelled,
    }
    return ", ".join(f"{number} {words}" for words, number in parts.items() if number) or "none"


@dataclass(frozen=True, slots=True)
class Lane:
    """Executions of which only the newest matters. Without a pull request the branch identifies the change."""

    org_id: str
    workflow_id: str | None
    name: str | None
    shard: Shard | None
    repository: str | None
    pr_number: int | None
    branch: str | None


def has_lane(ci: Ci) -> bool:
    """Whether CI named the change that an execution is for."""
    return ci.pr_number is not None or bool(ci.branch)


def lane_of(execution: Execution) -> Lane | None:
    """The lane of an execution; None for tests without a name, and when CI did not name the change."""
    ci = execution.ci
    subject = (execution.workflow_id, execution.name)
    if subject == (None, None) or not has_lane(ci):
        return None
    branch = ci.branch if ci.pr_number is None else None
    return Lane(execution.org_id, *subject, execution.shard, ci.repository, ci.pr_number, branch)


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


def bindings_changed(run: Run) -> list[dict[str, Value]]:
    """Which steps of a run that passed have bound another element than in its last passes, and what they bound."""
    changes = run.attempts[-1].bindings_changed if run.success else ()
    return [{"step_index": change.step_index, "message": change.message} for change in changes]


def report_metadata(run: Run) -> Document:
    """Category and reason of the failure, whether the run was flaky, and links to its artifacts.

    Of a run whose bindings have changed also these.
    """
    failure, changes = run.failure, bindings_changed(run)
    return {
        **({"bindings_changed": changes} if changes else {}),
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
