"""Ports of the use cases: executions of the caller's organisation, what to run, the queue, and change notifications."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.states import Status
from services.chassis.events import Event
from services.executor.model.attribution import ExecutionSource
from services.executor.model.changes import Change
from services.executor.model.executions import BuildConfig, Execution, ExecutionResult, StartSubject
from services.executor.model.organisation_limits import OrganisationLimits, StartedRuns
from services.executor.model.run_groups import RunGroup
from services.executor.model.runs import ResolvedRuns, Run, RunPlan, RunTarget
from services.executor.model.variants import KnownVariants
from services.executor.model.workers import KnownWorker, WorkerReport


class ExecutionOrder(StrEnum):
    """In which order executions are listed; those that have not ended did not take long."""

    NEWEST = "newest"
    OLDEST = "oldest"
    LONGEST = "longest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Which executions to list, in which order; None matches all.

    The texts `branch`, `commit_sha`, `name`, `ci_run_id` and `started_by` match by prefix, or with `exact` as a whole,
    in any case; with `exact` the branch only in its own.
    """

    status: Status | None = None
    workflow_id: str | None = None
    app_id: str | None = None
    source: ExecutionSource | None = None
    branch: str | None = None
    commit_sha: str | None = None
    pr_number: int | None = None
    name: str | None = None
    ci_run_id: str | None = None
    started_by: str | None = None
    result: ExecutionResult | None = None
    rerun_of: str | None = None
    superseded_by: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    exact: bool = False
    order: ExecutionOrder = ExecutionOrder.NEWEST


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreensFilter:
    """Ended runs of a test, an app or a build whose last attempt has kept screens; None matches all.

    At least one of the ids of the target is set. `variant_id` is empty for the empty variant. `before` continues a
    list: the end and the id of its last run.
    """

    test_id: str | None = None
    app_id: str | None = None
    build_id: str | None = None
    platform: Platform | None = None
    variant_id: str | None = None
    success: bool | None = None
    before: tuple[datetime, str] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page number, counted from 1, and a page size."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class ExecutionPage:
    """Executions, how many match, and when the last one was accepted that was searched (None: all were)."""

    items: Sequence[Execution] = ()
    total: int = 0
    searched_until: datetime | None = None


class Executions(Protocol):
    """The executions of the caller's organisation.

    Raises:
        NotFound: by every method, for unknown ones and those of others.
    """

    async def now(self) -> datetime:
        """The clock that all times of executions refer to."""

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        """Store a new execution with its runs and their plans (by run id); returns the stored one if the id exists."""

    async def waiting_runs(self) -> int:
        """How many runs of the organisation wait for a device."""

    async def started_runs(self, today: date) -> StartedRuns:
        """How many runs the organisation has started on that day (UTC), and has stored."""

    async def running_runs(self) -> int:
        """How many runs of the organisation are in progress."""

    async def running_by_platform(self) -> Mapping[Platform, int]:
        """How many runs of the organisation are in progress, by platform; absent: none."""

    async def expected_seconds(self, targets: Sequence[RunTarget]) -> list[float | None]:
        """How long a run of each target is expected to keep a worker busy; None where no run has finished yet."""

    async def known_variants(self, test_ids: Collection[str]) -> Mapping[str, KnownVariants]:
        """The variants that these tests have had, as far as they had any but the empty one."""

    async def remember_variants(self, changed: Mapping[str, tuple[KnownVariants, KnownVariants]]) -> Collection[str]:
        """Replace what is known of tests: by test, as it was loaded and as it is now.

        Returns the tests that another start has changed meanwhile, of which nothing is replaced.
        """

    async def plans_of(self, execution_id: str) -> dict[str, RunPlan]:
        """The plans of an execution's runs, by run id."""

    async def plan(self, run_id: str) -> RunPlan:
        """The plan of a run."""

    async def supersede(self, execution: Execution) -> None:
        """Cancel all unfinished executions of the same lane that are older than its newest one with `cancel_previous`.

        `execution` itself may be among them. Idempotent.
        """

    async def cancel(self, execution_id: str) -> Execution:
        """Request cancellation.

        Raises:
            FailedPrecondition: the execution has ended.
        """

    async def get(self, execution_id: str) -> Execution: ...

    async def batch(self, execution_ids: Sequence[str]) -> list[Execution]:
        """Those that exist, in the order of the ids."""

    async def page(self, wanted: ExecutionFilter, page: Page) -> ExecutionPage:
        """A page of the matching executions, and how many match."""

    async def runs(self, execution_id: str, page: Page) -> tuple[list[Run], int]:
        """A page of an execution's runs in order, without steps, and how many runs it has."""

    async def worst_runs(self, execution_id: str, page: Page) -> tuple[list[Run], Sequence[RunGroup]]:
        """A page of an execution's runs with the worst first, without steps, and the groups of all its runs."""

    async def all_runs(self, execution_id: str) -> list[Run]:
        """All runs of an execution in order, with steps."""

    async def run(self, execution_id: str, run_id: str) -> Run:
        """One run with its steps."""

    async def newest_with_screens(self, wanted: ScreensFilter) -> str | None:
        """The id of the newest such run; None if there is none."""

    async def runs_with_screens(self, wanted: ScreensFilter, limit: int) -> list[Run]:
        """At most `limit` such runs with the steps of their last attempts, the newest first."""

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> Run:
        """Answer the run's question and return the updated run with steps.

        Raises:
            FailedPrecondition: it asks nothing.
        """

    async def log(self, execution_id: str, after: int, limit: int) -> list[Event]:
        """The execution's events with a sequence number above `after`, in order."""


class Supersessions(Protocol):
    """Executions of all organisations that may still have older ones to cancel."""

    async def pending(self, limit: int) -> list[Execution]:
        """The oldest of them, except those started only just now."""

    async def supersede(self, execution: Execution) -> None:
        """As `Executions.supersede`."""


class PlanTooLarge(Exception):
    """A plan that takes so much memory that only a few starts at a time may have one."""


class Catalog(Protocol):
    """What to run, and the files of builds and tests."""

    async def resolve(
        self,
        subject: StartSubject,
        build_config: BuildConfig,
        *,
        override_build_config: bool,
        large: bool = False,
    ) -> ResolvedRuns:
        """The runs that a start comprises.

        Raises:
            PlanTooLarge: unless it may be `large`.
            NotFound: there is no such workflow or test.
            InvalidArgument: a value is not valid.
            ResourceExhausted: the catalog refuses more calls.
            Unavailable: the catalog does not answer.
            DeadlineExceeded: the catalog does not answer in time.
        """

    async def organisation_limits(self) -> OrganisationLimits:
        """The limits of the caller's organisation; they may be half a minute old."""

    async def artifact(self, org_id: str, build_id: str, limit: int) -> bytes:
        """The first `limit` bytes of a build's file."""

    def download(self, org_id: str, build_id: str) -> AsyncIterator[bytes]:
        """A build's whole file, in chunks."""

    def download_test_file(self, org_id: str, sha256: str) -> AsyncIterator[bytes]:
        """A picture or video of a test, in chunks."""


class ChangeSubscription(Protocol):
    """Notified when an execution changes; spurious notifications are possible."""

    async def wait(self, seconds: float) -> Sequence[str]:
        """Return when something has changed since the last wait, or after `seconds`: the ids of runs with new steps.

        None of them if the execution itself has changed, or nothing.
        """


class ChangeNotifications(Protocol):
    """Notifies of changes of executions."""

    def subscribe(self, execution_id: str, *, steps: bool = False) -> AbstractContextManager[ChangeSubscription]:
        """Subscribed from the start of the block: a change after a read inside it is never missed.

        `steps`: also of new steps of the execution's runs.
        """


class WaitingRuns(Protocol):
    """Runs of the caller's organisation that wait for a worker, or for a person."""

    async def counts(self) -> Mapping[tuple[Platform, int], int]:
        """How many wait for a worker, by platform and rank; absent: none."""

    async def page(self, page: Page) -> Sequence[Run]:
        """A page of those that wait for a worker: Android first, then in the order of claims."""

    async def asking(self, page: Page) -> tuple[Sequence[Run], int]:
        """A page of those that wait for a person, the oldest question first, and how many do."""


class Workers(Protocol):
    """The reports of all workers."""

    async def report(self, worker: WorkerReport) -> None:
        """Store the report, which counts for the time of a lease."""

    async def retire(self, worker_id: str) -> None:
        """Forget a worker that has ended."""

    async def all(self) -> Sequence[KnownWorker]:
        """Those that have reported within a day, at most 1,000: the latest ones."""
