"""What the use-cases need: the read models, to be looked up and to be folded into."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.reporting.model.attempts import Attempt, BuildRef
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.projection import RowKeys
from services.reporting.model.quarantine import Quarantine
from services.reporting.model.reports.apps import VerdictCount
from services.reporting.model.reports.breakage import BuildVerdict, VerdictQuery
from services.reporting.model.reports.gate import ExecutionProgress, GateRun
from services.reporting.model.snapshots import AppSnapshot, AttachmentSnapshot, BuildSnapshot, TestSnapshot
from services.reporting.model.tables import Cell, CellKey, HistoryKey, Tables

Counts = Mapping[str, Mapping[str, int]]  # counter -> field -> amount


@dataclass(frozen=True, slots=True)
class Page:
    """Of what is older than `before` (None: of all) the newest `skip` are left out, then `limit` are given."""

    skip: int
    limit: int
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class TestFilter:
    """Which tests that are not deleted: that run on a platform (of it, or of none), carry a tag, fit a pattern of names
    (model/text.py), are among `only`, and not among `without`.
    """

    __test__ = False

    platform: str | None = None
    tag: str | None = None
    pattern: str | None = None
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()


class ProjectionTransaction(Protocol):
    """One transaction on the read models, of all organisations."""

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        """Load the rows that exist into the tables."""

    async def save_runs(self, tables: Tables) -> None:
        """Begin to write the runs and executions that were put; what `save` writes may be folded meanwhile."""

    async def save(self, tables: Tables) -> None:
        """Write every row that was put; counters are added to what is stored."""


class Projections(Protocol):
    """Where the read models are written."""

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        """Run `work` in one transaction, again from the start when it lost a race."""


class CatalogTests(Protocol):
    """The copies of the catalog's tests; everything belongs to the organisation of the caller."""

    async def with_history(self, classification: Classification | None = None) -> frozenset[str]:
        """The tests that have a history on any app, or one that is so classified."""

    async def newest(self, filter: TestFilter, page: Page) -> Sequence[str]:
        """The ids of the tests that fit, newest first, ids breaking ties."""

    async def count(self, filter: TestFilter) -> int:
        """How many fit."""

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        """The quarantines of those of the tests that have one; some may be over."""


class ReadModels(Protocol):
    """Where the read models are looked up; everything belongs to the organisation of the caller.

    Mappings leave out what does not exist. Deleted builds and tests are given by id, never in lists. What a lookup
    costs grows with what it gives (and with `skip`), never with how many runs there were.
    """

    async def app(self, app_id: str) -> AppSnapshot | None:
        """The copy of an app, deleted or not; None before it was heard of."""

    async def counters(self, names: Collection[str], fields: Collection[str] = ()) -> Counts:
        """The fields of counters (model/counters.py) by name: those named, or all."""

    async def builds(self, app_id: str, page: Page) -> Sequence[BuildSnapshot]:
        """An app's builds, newest first."""

    async def builds_of_versions(self, app_id: str, versions: Collection[str]) -> Sequence[BuildSnapshot]:
        """The builds of an app that have these versions."""

    async def builds_by_id(self, build_ids: Collection[str]) -> Mapping[str, BuildSnapshot]:
        """These builds, deleted ones too."""

    async def tests_by_id(self, test_ids: Collection[str]) -> Mapping[str, TestSnapshot]:
        """These tests, deleted ones too."""

    async def attachments(self, app_id: str) -> Sequence[AttachmentSnapshot]:
        """What is attached to an app now."""

    async def verdicts(
        self, app_id: str, build_ids: Collection[str], test_ids: Collection[str]
    ) -> Sequence[VerdictCount]:
        """How many of these tests passed and failed on each of these builds, by their newest verdict there."""

    async def cells_of_builds(self, app_id: str, build_ids: Collection[str]) -> Mapping[CellKey, Cell]:
        """All cells of these builds, without the runs under way."""

    async def cells(self, keys: Collection[CellKey]) -> Mapping[CellKey, Cell]:
        """These cells, without their failure groups."""

    async def assessments(self, app_id: str, test_ids: Collection[str]) -> Mapping[str, Assessment]:
        """How these tests behave on an app."""

    async def observed(self, app_id: str, test_ids: Collection[str]) -> Mapping[str, BuildRef]:
        """The newest build of an app with a verdict of each of these tests."""

    async def runs_of_build(self, build_id: str, page: Page) -> Sequence[bytes]:
        """Runs resolved to a build, newest first, as lists show them; not those that expired."""

    async def runs_of_test(self, test_id: str, page: Page) -> Sequence[bytes]:
        """Runs of a test, newest first, as lists show them; not those that expired."""


class Verdicts(Protocol):
    """What comparison and gate look up besides the read models; everything belongs to the caller's organisation.

    What a lookup costs grows with what is asked for and given, never with how many builds there were.
    """

    async def sightings(self, keys: Collection[CellKey], sought: VerdictQuery) -> Mapping[CellKey, BuildVerdict]:
        """By cell, what is sought of the same test on the same app; cells that do not exist are left out."""

    async def attempts(self, keys: Collection[HistoryKey]) -> Mapping[HistoryKey, Sequence[Attempt]]:
        """The newest decided attempts of these tests on these apps, as far as histories keep them."""

    async def builds_before(self, build: BuildSnapshot, limit: int) -> Sequence[BuildSnapshot]:
        """The builds of its app that were uploaded before it, newest first, without deleted ones."""

    async def progress(self, execution_id: str) -> ExecutionProgress | None:
        """How far an execution is; None before it was heard of."""

    async def runs_of_execution(self, execution_id: str) -> Sequence[GateRun]:
        """All runs of an execution that were heard of, expired ones too, in no order."""


@dataclass(frozen=True, slots=True)
class ListedTest:
    """A test with runs in its list."""

    org_id: str
    test_id: str


class ExpirableRuns(Protocol):
    """The lists of all tests, of all organisations, as retention goes through them."""

    async def test_after(self, test: ListedTest | None) -> ListedTest | None:
        """The next test with a list, by organisation and id; the first after None, and None after the last."""

    async def runs(self, test: ListedTest, page: Page) -> Sequence[str]:
        """The ids of a test's listed runs, newest first."""

    async def remove_empty_days(self, org_id: str, counters: Collection[str]) -> None:
        """Remove the days on which no run is left from the counters of these lists."""


class Lease(Protocol):
    """Whose turn it is."""

    async def acquire(self) -> bool: ...

    async def release(self) -> None: ...
