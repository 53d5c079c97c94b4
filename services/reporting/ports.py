"""What the use-cases need: lookups of the read models, and transactions that update them."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.reporting.model.app_failures import AppFailure
from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.projection import RowKeys
from services.reporting.model.reports.app_health import AppHealth
from services.reporting.model.reports.apps import VerdictCount
from services.reporting.model.reports.breakage import AttemptQuery, BuildVerdict, VerdictQuery
from services.reporting.model.reports.gate import ExecutionProgress, GateRun
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    Quarantine,
    RunResult,
    TestSnapshot,
)
from services.reporting.model.sources import BranchKey, BranchKind, BranchRow, BuildSource
from services.reporting.model.tables import Cell, CellKey, FailureKey, Group, GroupKey, HistoryKey, Tables
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.model.variants import KnownVariants, Subject

Counts = Mapping[str, Mapping[str, int]]  # counter -> field -> amount


@dataclass(frozen=True, slots=True)
class RowPage:
    """The next `limit` rows after skipping the newest `skip` of those older than `before` (None: of all)."""

    skip: int
    limit: int
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class BranchQuery:
    """Branches of an app: of one of the kinds, whose folded names begin with a match of the pattern."""

    app_id: str
    kinds: tuple[BranchKind, ...]
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class TestFilter:
    """Tests that are not deleted, run on the platform (theirs, or any), have the tag, match the pattern of names
    (model/text_search.py), are in quarantine at `quarantined_at`, are in `only`, and not in `without`.
    """

    __test__ = False

    platform: str | None = None
    tag: str | None = None
    pattern: str | None = None
    quarantined_at: datetime | None = None
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()


class ProjectionTransaction(Protocol):
    """One transaction on the read models, of all organisations."""

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        """Load the rows that exist into the tables."""

    async def save_runs(self, tables: Tables) -> None:
        """Begin to write the changed runs and executions; what `save` writes may be folded meanwhile."""

    async def save(self, tables: Tables) -> None:
        """Write every changed row; counters are incremented."""


class Projections(Protocol):
    """Updates of the read models."""

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        """Run `work` in one transaction, again from the start after a lost race.

        Raises:
            Aborted: MongoDB refuses the transaction; a smaller one may succeed.
        """


class CatalogTests(Protocol):
    """The copies of the catalog's tests, of the caller's organisation."""

    async def with_history(self, classification: Classification | None = None) -> frozenset[str]:
        """The tests that have a history on any app, or there this classification (that of the worst variant)."""

    async def newest(self, filter: TestFilter, page: RowPage) -> Sequence[str]:
        """The ids of the matching tests, newest first, ids breaking ties."""

    async def count(self, filter: TestFilter) -> int:
        """How many tests match."""

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        """The quarantines of these tests; some may have expired."""


class ReadModels(Protocol):
    """Lookups of the read models of the caller's organisation.

    Mappings leave out what does not exist. Deleted builds and tests are found by id, but never listed. The cost of a
    lookup grows with its result (and with `skip`), never with the number of runs.
    """

    async def apps_by_id(self, app_ids: Collection[str]) -> Mapping[str, AppSnapshot]:
        """The copies of these apps, deleted ones too."""

    async def counters(self, names: Collection[str], fields: Collection[str] = ()) -> Counts:
        """The fields of these counters (model/counters.py): the named ones, or all."""

    async def builds(self, app_id: str, page: RowPage) -> Sequence[BuildSnapshot]:
        """An app's builds, newest first."""

    async def builds_of_versions(self, app_id: str, versions: Collection[str]) -> Sequence[BuildSnapshot]:
        """The builds of an app that have these versions."""

    async def builds_by_id(self, build_ids: Collection[str]) -> Mapping[str, BuildSnapshot]:
        """These builds, deleted ones too."""

    async def tests_by_id(self, test_ids: Collection[str]) -> Mapping[str, TestSnapshot]:
        """These tests, deleted ones too."""

    async def attachments(self, app_id: str) -> Sequence[AttachmentSnapshot]:
        """The attachments of an app."""

    async def variants(self, app_id: str, test_ids: Collection[str]) -> KnownVariants:
        """The variants in which these tests have run on an app."""

    async def build_sources(self, app_id: str, build_ids: Collection[str]) -> Mapping[str, BuildSource]:
        """By build, what CI named for these builds of an app."""

    async def branches(self, query: BranchQuery, page: RowPage) -> Sequence[tuple[BranchKey, BranchRow]]:
        """The matching branches of an app, those with the newest run first."""

    async def count_branches(self, query: BranchQuery) -> int:
        """How many branches match."""

    async def branches_by_key(self, keys: Collection[BranchKey]) -> Mapping[BranchKey, BranchRow]:
        """These branches."""

    async def verdicts(
        self, app_id: str, build_ids: Collection[str], subjects: Collection[Subject]
    ) -> Sequence[VerdictCount]:
        """How many tests passed and failed on each of these builds, by the newest verdict of each of these subjects: a
        test fails if one of them does.
        """

    async def cells_of_builds(self, app_id: str, build_ids: Collection[str]) -> Mapping[CellKey, Cell]:
        """All cells of these builds, without their active runs."""

    async def subjects_of_branch(
        self, app_id: str, build_ids: Collection[str], branch: str
    ) -> Sequence[tuple[str, Subject]]:
        """The builds among these, and the subjects, that have a verdict of a run that named this branch."""

    async def cells(self, keys: Collection[CellKey]) -> Mapping[CellKey, Cell]:
        """These cells, without their failure groups."""

    async def assessments(
        self, app_id: str, subjects: Collection[Subject], only: Classification | None = None
    ) -> Mapping[Subject, Assessment]:
        """The assessments of these subjects on an app, or only of those with this classification."""

    async def flakiest(self, app_id: str | None, *, limit: int) -> Sequence[HistoryKey]:
        """The subjects that are classified as flaky on an app, or (None) on any, by score, the flakiest first."""

    async def observed(self, app_id: str, subjects: Collection[Subject]) -> Mapping[Subject, BuildRef | None]:
        """The newest build of an app with a verdict of each of these subjects that ran; None without a verdict."""

    async def runs_of_build(self, build_id: str, page: RowPage, results: Collection[RunResult] = ()) -> Sequence[bytes]:
        """The list items of the runs of a build, newest first, without expired runs: of all, or with these results."""

    async def runs_of_test(self, test_id: str, page: RowPage, results: Collection[RunResult] = ()) -> Sequence[bytes]:
        """The list items of the runs of a test, newest first, without expired runs: of all, or with these results."""

    async def count_results_of_build(self, build_id: str, results: Collection[RunResult]) -> int:
        """The number of a build's runs with these results, without expired runs."""

    async def count_results_of_test(self, test_id: str, results: Collection[RunResult]) -> int:
        """The number of a test's runs with these results, without expired runs."""

    async def runs_on_app(self, app_id: str, test_id: str, variant_id: str | None, *, limit: int) -> Sequence[bytes]:
        """The list items of the newest runs of a test on an app, in one variant or (None) in all of them, newest first;
        only as far as they are among the newest runs of the test on all apps (see the adapter).
        """


class Verdicts(Protocol):
    """Further lookups for comparison and gate, of the caller's organisation.

    The cost of a lookup grows with its arguments and result, never with the number of builds.
    """

    async def uploads(self, keys: Collection[CellKey]) -> Mapping[CellKey, datetime]:
        """When the builds of these cells were uploaded, as far as there are such cells."""

    async def find(
        self, keys: Collection[CellKey], query: VerdictQuery, uploads: Mapping[CellKey, datetime] | None = None
    ) -> Mapping[CellKey, BuildVerdict]:
        """By cell, the verdict of the same test on the same app that the query asks for, if there is one; only those
        of runs that name their branch.

        A caller that knows it says when the build of each cell was uploaded, which saves looking that up.
        """

    async def storms(self, execution_ids: Collection[str]) -> Collection[str]:
        """Those of these executions that are known to be infrastructure storms."""

    async def attempts(
        self, keys: Collection[HistoryKey], sought: Mapping[HistoryKey, AttemptQuery] | None = None
    ) -> Mapping[HistoryKey, Sequence[Attempt]]:
        """The decided attempts that the histories of these tests on these apps retain; with `sought` only of those
        histories that contain such an attempt.
        """

    async def builds_before(self, build: BuildSnapshot, limit: int) -> Sequence[BuildSnapshot]:
        """The builds of its app that were uploaded before it, newest first, without deleted ones."""

    async def progress(self, execution_ids: Collection[str]) -> Mapping[str, ExecutionProgress]:
        """The progress of these executions, as far as they are known."""

    async def runs(self, run_ids: Collection[str]) -> Sequence[GateRun]:
        """These runs, as far as they are known, also expired ones, in no order."""

    async def runs_of_execution(self, execution_id: str) -> Sequence[GateRun]:
        """All known runs of an execution, also expired ones, in no order."""


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """Failures whose text the pattern finds (chassis/text_search.py), of an app, in a state, of a category."""

    pattern: str | None = None
    app_id: str | None = None
    state: FailureState | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class FoundFailures:
    """A page of failures, how many match, and when the last one was seen that was searched (None: all were)."""

    items: Sequence[tuple[FailureKey, AppFailure]]
    total: int
    searched_until: datetime | None


class Failures(Protocol):
    """Lookups of failures by fingerprint, of the caller's organisation."""

    async def page(self, filter: FailureFilter, page: RowPage, reopened: Collection[FailureKey] = ()) -> FoundFailures:
        """Those of existing apps that match, of the 10,000 that were seen last, these first; `reopened` are open."""

    async def fixed(self) -> Sequence[TriageSnapshot]:
        """What people wrote about those that are fixed in a build."""

    async def newest_builds(self, keys: Collection[FailureKey]) -> Mapping[FailureKey, BuildRef]:
        """The build that was uploaded last among those that have it, of each of these that occurred on one."""

    async def get(self, key: FailureKey) -> AppFailure | None:
        """The failures of an app with a fingerprint; None if there are none."""

    async def groups(self, key: FailureKey, limit: int) -> Sequence[tuple[GroupKey, Group]]:
        """Their groups by test, variant and build, seen last first."""

    async def triages(self, keys: Collection[FailureKey]) -> Mapping[FailureKey, TriageSnapshot]:
        """What people wrote about these, without those of which nothing is left."""


@dataclass(frozen=True, slots=True)
class StoredHealth:
    """The health of an app, and the version of the app that it was computed for."""

    version: str
    health: AppHealth


class HealthSummaries(Protocol):
    """Computed summaries of the apps of the caller's organisation."""

    async def find(self, app_ids: Collection[str]) -> Mapping[str, StoredHealth]:
        """The summaries of these apps, as far as there are any, whatever their version."""

    async def save(self, stored: StoredHealth) -> None:
        """Replace the summary of the app."""


@dataclass(frozen=True, slots=True)
class ListedTest:
    """A test that has runs in its list."""

    org_id: str
    test_id: str


class ExpirableRuns(Protocol):
    """The runs in the lists of all tests, of all organisations."""

    async def test_after(self, test: ListedTest | None) -> ListedTest | None:
        """The next listed test by organisation and id; the first one for None, and None after the last."""

    async def runs(self, test: ListedTest, page: RowPage) -> Sequence[str]:
        """The ids of a test's listed runs, newest first."""

    async def remove_empty_days(self, org_id: str, counters: Collection[str]) -> None:
        """Remove the days on which no run is left from the counters of these lists."""
