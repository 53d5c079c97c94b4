"""A run: one test on one platform inside an execution, with its plan, its lease, its attempts and its question."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from mobiletest_automation.flows.environment import Environment
from mobiletest_automation.model.attempts import Attempt, AttemptMode, is_flaky
from mobiletest_automation.model.devices import Platform, Session
from mobiletest_automation.model.failures import Failure
from mobiletest_automation.model.results import Artifact
from mobiletest_automation.model.run_config import RunConfig
from mobiletest_automation.model.states import Status
from mobiletest_automation.model.variants import EMPTY_VARIANT, Variant
from services.executor.model.organisation_limits import UNLIMITED, OrganisationLimits


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Time limits, retries of infrastructure failures, and the default number of concurrent runs per organisation over
    all workers (None: unlimited).
    """

    queue_timeout: timedelta = timedelta(hours=1)
    run_timeout: timedelta = timedelta(minutes=30)
    lease_ttl: timedelta = timedelta(seconds=15)
    infrastructure_retries: int = 2
    infrastructure_backoff: timedelta = timedelta(seconds=1)
    organisation_runs: int | None = None


@dataclass(frozen=True, slots=True)
class RunTarget:
    """The test, app and build of a run, as they were at the start; None when not resolved.

    `source_path` is that of the test's flow in its workspace, None if it was not imported; `properties` are those that
    the flow gives to its testcase in JUnit.
    """

    test_id: str
    test_name: str
    test_version_number: int
    platform: Platform | None = None
    app_id: str | None = None
    app_name: str | None = None
    build_id: str | None = None
    resolved_build_version: str | None = None
    build_uploaded_at: datetime | None = None
    source_path: str | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BuildArtifact:
    """The file of a build: `sha256` in hexadecimal when the catalog stores it, else possibly an external URL."""

    sha256: str = ""
    file_name: str = ""
    artifact_url: str | None = None
    package_name: str | None = None


@dataclass(frozen=True, slots=True)
class TestFile:
    """A picture or video that a test needs: `path` is that of its steps, `sha256` in hexadecimal."""

    __test__ = False

    path: str
    sha256: str


# The plan of a run that counts as one.
PLAN_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run to start. `steps` are free-form JSON. `config_error` says why it cannot start and what to do about it;
    empty when it can. `env` are the variables of the test. `step_positions` are where the steps are written
    (`flows.positions`), "" if that is not known. `size_bytes` is that of the plan as the catalog sent it.
    """

    target: RunTarget
    steps: tuple[object, ...] = ()
    timeout_seconds: int | None = None
    static_url: str | None = None
    system_prompt: str | None = None
    artifact: BuildArtifact = BuildArtifact()
    config_error: str = ""
    env: Environment = field(default_factory=dict)
    files: tuple[TestFile, ...] = ()
    step_positions: str = ""
    size_bytes: int = 0

    @property
    def counts_as(self) -> int:
        """As how many runs it counts, because it is stored with each: one more for each PLAN_BYTES."""
        return 1 + self.size_bytes // PLAN_BYTES

    @property
    def flow_name(self) -> str:
        """The name of the flow's file without its ending; of a test that was not imported, its own."""
        return PurePosixPath(self.target.source_path or "").stem or self.target.test_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRuns:
    """The runs of a workflow or a test, and the organisation's limits; the first two fields are empty for a test.

    `notice` is a sentence about the tests that have no run.
    """

    workflow_id: str = ""
    workflow_name: str = ""
    run_config: RunConfig = RunConfig()  # noqa: RUF009 (frozen)
    max_parallel: int | None = None
    plans: tuple[RunPlan, ...] = ()
    limits: OrganisationLimits = UNLIMITED
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Orphan:
    """A session that a lost worker may have left open; `since` is when that was noticed, on the database's clock."""

    hub: str
    id: str
    since: datetime

    @property
    def session(self) -> Session:
        return Session(self.hub, self.id)


@dataclass(frozen=True, slots=True)
class RunLease:
    """The exclusive right of one worker to write a run, until `expires_at` on the database's clock.

    `session` is the driver session that the worker has open for this run.
    """

    worker: str
    expires_at: datetime
    session: Session | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPrompt:
    """What a worker asks a person (run_config.execution_mode.human_in_the_loop).

    The answer is one of the `options`, or a step to carry out instead; `screenshot` names an artifact.
    """

    id: str
    text: str
    step_index: int
    options: tuple[str, ...] = ()
    screenshot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the latest attempt, `open` until it is answered, withdrawn, or its run is cancelled."""

    prompt: QuestionPrompt
    asked_at: datetime
    expires_at: datetime
    answer: str | None = None
    open: bool = True

    @property
    def screenshot_artifact(self) -> Artifact | None:
        """The screenshot, which can be downloaded while the attempt is still running."""
        name = self.prompt.screenshot
        return Artifact(name=name, kind="screenshot", content_type="image/png", size_bytes=0) if name else None


def close_question(question: Question | None) -> Question | None:
    """The question, no longer open."""
    return replace(question, open=False) if question is not None and question.open else question


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One test on one platform. Times are UTC on the database's clock.

    `claimable_at` is when a worker may claim it, None while it may not. `fencing_token` increases with each claim and
    whenever a lease is revoked. `deadline_at` is set by the first claim. `orphans` are sessions to delete.
    `claim_order` is its place in the claim order of its execution, `position` its place in lists, both from 0.
    `stage` is its place in the order in which the runs of the execution are released (`model.stages`).
    `superseded_by` is the execution on whose behalf it is cancelled. `extra_modes` are the attempts allowed beyond
    `retries`, once each. `question` is the latest question of the latest attempt. `verifies` is the failed run for
    which this one checks a proposal: it is no result of the test. `comment_count` is how many comments it has.
    """

    id: str
    execution_id: str
    org_id: str
    position: int
    target: RunTarget
    retries: int
    created_at: datetime
    priority: int = 0
    claim_order: int = 0
    stage: int = 0
    status: Status = Status.INITIALIZED
    success: bool | None = None
    failure: Failure | None = None
    attempts: tuple[Attempt, ...] = ()
    queued_at: datetime | None = None
    claimable_at: datetime | None = None
    started_at: datetime | None = None
    deadline_at: datetime | None = None
    completed_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    superseded_by: str | None = None
    lease: RunLease | None = None
    fencing_token: int = 0
    orphans: tuple[Orphan, ...] = ()
    extra_modes: tuple[AttemptMode, ...] = ()
    question: Question | None = None
    variant: Variant = EMPTY_VARIANT
    verifies: str | None = None
    comment_count: int = 0
    revision: int = 1

    @property
    def end(self) -> tuple[datetime, str] | None:
        """Its place among ended runs, of which several may end at the same time; None before its end."""
        return (self.completed_at, self.id) if self.completed_at is not None else None

    @property
    def attempt_number(self) -> int:
        """The number of the latest attempt; 0 before the first claim."""
        return self.attempts[-1].number if self.attempts else 0

    @property
    def open_question(self) -> Question | None:
        """The question that can be answered now."""
        return self.question if self.question is not None and self.question.open else None

    @property
    def flaky(self) -> bool:
        return is_flaky(self.attempts)

    @property
    def execution_time_seconds(self) -> float | None:
        """Never negative, although the times may come from the clocks of two servers."""
        if self.started_at is None or self.completed_at is None:
            return None
        return max(0.0, (self.completed_at - self.started_at).total_seconds())

    @property
    def busy_seconds(self) -> float:
        """How long workers were busy with it: the total of its ended attempts."""
        spans = (a.completed_at - a.started_at for a in self.attempts if a.completed_at is not None)
        return sum(span.total_seconds() for span in spans)

    def due_at(self, limits: RunLimits) -> datetime | None:
        """When the reaper must look at this run; None when no time limit applies."""
        if self.lease is not None:
            return self.lease.expires_at
        if self.status is Status.QUEUED and self.queued_at is not None:
            return self.queued_at + limits.queue_timeout
        return self.deadline_at if self.status is Status.RUNNING else None
