"""The read models as values, and the tables that hold them.

Nothing changes a value. Those of which each run makes some are not frozen, because that makes them three times as
slow to create.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Generic, NamedTuple, TypeVar

from services.reporting.model.app_failures import AppFailure
from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    Outcome,
    RunResult,
    Simulation,
    SourcePosition,
    Status,
    TestSnapshot,
)
from services.reporting.model.sources import BranchKey, BranchRow, BuildSource, BuildSourceKey, SourceRevision
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import Subject, Values, subject_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CellKey = tuple[str, Subject, str]  # app, subject, build
HistoryKey = tuple[str, Subject]  # app, subject
GroupKey = tuple[str, Subject, str, str]  # app, subject, build, fingerprint
FailureKey = tuple[str, str]  # app, fingerprint
CounterKey = tuple[str, str]  # organisation, counter (see counters.py)


@dataclass(slots=True, unsafe_hash=True)
class RunRow:
    """A run: what it has contributed follows from revision and status; `list_item` is the run as lists show it.

    `listed_at` is None when it expired: no list contains it any more, and later events about it change nothing.
    `result` is None while it has not ended, and when it expired.
    """

    org_id: str
    revision: int
    status: Status
    execution_id: str
    test_id: str
    app_id: str | None
    build_id: str | None
    listed_at: datetime | None
    list_item: bytes
    variant: str = ""
    result: RunResult | None = None

    @property
    def expired(self) -> bool:
        """Whether retention took it out of the lists."""
        return self.listed_at is None

    @property
    def cell(self) -> CellKey | None:
        """Its cell in the matrix; None without app or build."""
        if not (self.app_id and self.build_id):
            return None
        return (self.app_id, subject_of(self.test_id, self.variant), self.build_id)


@dataclass(slots=True, unsafe_hash=True)
class EndedRun:
    """How a run of an execution ended; `fingerprint` is None when it did not fail."""

    app_id: str
    subject: Subject
    verdict: bool
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """An execution: how many runs it has (None: not known yet), how many ended, and whether it is a storm.

    `ended_runs` (by run) are stored until `storm` is settled; `last_days` has the newest day on which a run of each app
    ended.
    """

    org_id: str
    revision: int = -1
    total: int | None = None
    finished: int = 0
    ended_runs: dict[str, EndedRun] = field(default_factory=dict)
    last_days: dict[str, date] = field(default_factory=dict)
    storm: bool | None = None


class Active(NamedTuple):
    """A run that is queued or running; `since` is when it started, else when it was accepted.

    A tuple, because a cell may have thousands, all of which are read and written with it.
    """

    status: Status
    since: datetime
    execution_id: str


@dataclass(slots=True, unsafe_hash=True)
class LastRun:
    """The newest finished run of a cell. Runs are newer by (ended_at, run_id)."""

    ended_at: datetime
    run_id: str
    execution_id: str
    outcome: Outcome
    seconds: float | None
    simulation: Simulation | None = None
    bindings_changed: bool = False

    @property
    def recency(self) -> tuple[datetime, str]:
        return (self.ended_at, self.run_id)


@dataclass(slots=True, unsafe_hash=True)
class NamedVerdict:
    """The newest verdict of a cell among the runs that name their branch: what counts for a branch.

    A run of an unknown branch says nothing about a branch, even if it is the newest one on a build of that branch.
    """

    ended_at: datetime
    run_id: str
    execution_id: str
    outcome: Outcome
    seconds: float | None
    branch: str
    commit_sha: str | None

    @property
    def recency(self) -> tuple[datetime, str]:
        return (self.ended_at, self.run_id)

    @property
    def run(self) -> LastRun:
        return LastRun(self.ended_at, self.run_id, self.execution_id, self.outcome, self.seconds)

    @property
    def source_revision(self) -> SourceRevision:
        return SourceRevision(self.ended_at, self.run_id, self.branch, self.commit_sha)


@dataclass(slots=True, unsafe_hash=True)
class Group:
    """Failures of a cell with the same fingerprint; sample, step, position and execution are those of the newest."""

    org_id: str
    fingerprint: str
    category: str
    reason: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime
    run_id: str
    execution_id: str
    sample_message: str
    step_index: int | None
    position: SourcePosition | None = None

    @property
    def recency(self) -> tuple[datetime, str]:
        return (self.last_seen_at, self.run_id)

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """What groups are sorted by: count, then recency."""
        return (self.count, self.last_seen_at, self.fingerprint)


@dataclass(slots=True, unsafe_hash=True)
class Cell:
    """A subject on a build. `last_run` is None, and the counts are 0, while its runs are only queued or running.

    `uploaded_at` is the build's, the newest that a run reported: builds compare by (uploaded_at, build_id).
    `passed_ms`, `failed_ms` and `retried_ms` are how long its runs took that passed, that failed, and that passed in a
    later attempt: whole milliseconds, whose sum depends on no order.
    """

    org_id: str
    uploaded_at: datetime = EPOCH
    passed: int = 0
    failed: int = 0
    infra_failed: int = 0
    cancelled: int = 0
    test_version: int = 0
    test_name: str = ""
    last_run: LastRun | None = None
    verdict: LastRun | None = None
    source_revision: SourceRevision | None = None
    named_verdict: NamedVerdict | None = None
    active_runs: dict[str, Active] = field(default_factory=dict)
    groups: tuple[Group, ...] = ()
    passed_ms: int = 0
    failed_ms: int = 0
    retried_ms: int = 0

    @property
    def empty(self) -> bool:
        """Whether it has no run any more, because its only one moved to another build before it ended."""
        return self.last_run is None and not self.active_runs


@dataclass(frozen=True, slots=True)
class History:
    """A subject on an app, the attempts that it is judged by, its newest build with a verdict, and what is shown of its
    variant.
    """

    org_id: str
    attempts: tuple[Attempt, ...] = ()
    last_observed_build: BuildRef | None = None
    assessment: Assessment = UNKNOWN_ASSESSMENT
    values: Values = field(default_factory=dict, hash=False)


K = TypeVar("K")
V = TypeVar("V")


class Table(Generic[K, V]):
    """Rows by key, with a record of which were changed since they were loaded."""

    def __init__(self, rows: Iterable[tuple[K, V]] = ()) -> None:
        self._rows: dict[K, V] = dict(rows)
        self._stored: set[K] = set()
        self.changed: set[K] = set()

    def load(self, rows: Iterable[tuple[K, V]]) -> None:
        """Add rows that exist in storage."""
        stored = dict(rows)
        self._rows.update(stored)
        self._stored.update(stored)

    def get(self, key: K) -> V | None:
        return self._rows.get(key)

    def put(self, key: K, row: V) -> None:
        """Set the row and mark it as changed."""
        self._rows[key] = row
        self.changed.add(key)

    def drop(self, key: K) -> None:
        """Remove the row and mark it as changed."""
        self._rows.pop(key, None)
        self.changed.add(key)

    def rows(self) -> Iterator[tuple[K, V]]:
        return iter(self._rows.items())

    def changes(self) -> Iterator[tuple[K, V]]:
        """The rows that were put and not dropped afterwards."""
        return ((key, self._rows[key]) for key in self.changed if key in self._rows)

    def is_stored(self, key: K) -> bool:
        """Whether the row already exists in storage."""
        return key in self._stored

    def dropped(self) -> Iterator[K]:
        """The keys of rows that were dropped and not put afterwards."""
        return (key for key in self.changed if key not in self._rows)


@dataclass(slots=True)
class Tables:
    """All read models, or the part of them that a batch touches."""

    runs: Table[str, RunRow] = field(default_factory=Table)
    executions: Table[str, ExecutionRow] = field(default_factory=Table)
    counters: Table[CounterKey, dict[str, int]] = field(default_factory=Table)
    cells: Table[CellKey, Cell] = field(default_factory=Table)
    groups: Table[GroupKey, Group] = field(default_factory=Table)
    histories: Table[HistoryKey, History] = field(default_factory=Table)
    apps: Table[str, AppSnapshot] = field(default_factory=Table)
    builds: Table[str, BuildSnapshot] = field(default_factory=Table)
    tests: Table[str, TestSnapshot] = field(default_factory=Table)
    attachments: Table[tuple[str, str], AttachmentSnapshot] = field(default_factory=Table)
    build_sources: Table[BuildSourceKey, BuildSource] = field(default_factory=Table)
    branches: Table[BranchKey, BranchRow] = field(default_factory=Table)
    failures: Table[FailureKey, AppFailure] = field(default_factory=Table)
    triages: Table[FailureKey, TriageSnapshot] = field(default_factory=Table)
