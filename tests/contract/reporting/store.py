"""The read models in MongoDB, and stories whose reports are read from there."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from services.chassis.mongo import Mongo
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.list_positions import expire_runs
from services.reporting.model.projection import DEFAULT_RULES, ProjectionRules, RowKeys
from services.reporting.model.reports.gate import Gate
from services.reporting.model.tables import Tables
from services.reporting.ports import Projections, ProjectionTransaction
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.failures import MongoFailures
from services.reporting.storage.health_summaries import APP_HEALTH, MongoHealthSummaries
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import MongoCatalogTests, MongoReadModels
from services.reporting.storage.verdicts import MongoVerdicts
from services.reporting.usecases.app_health import AppHealths
from services.reporting.usecases.apps import AppReports
from services.reporting.usecases.branches import AppBranches
from services.reporting.usecases.breakages import Breakages
from services.reporting.usecases.classified_tests import ClassifiedTests, Quarantines
from services.reporting.usecases.compare import Comparisons
from services.reporting.usecases.durations import Durations
from services.reporting.usecases.failures import FailureReports
from services.reporting.usecases.flaky_tests import FlakyTests
from services.reporting.usecases.gate import BuildGates, GateRequest, Gates
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.report_sources import ReportSources, ReportTurns
from services.reporting.usecases.run_lists import RunLists
from services.reporting.usecases.test_reports import TestReports
from tests.contract.reporting.tables import read_tables
from tests.fakes.chassis import FakeClock
from tests.fakes.reporting_ci_story import CiStory
from tests.fakes.reporting_story import NOW, Story


class MongoStore:
    """The read models in MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self.mongo = mongo
        self.projections: Projections = MongoProjections(mongo)
        self.read_models = MongoReadModels(mongo)
        self.expirable = MongoExpirableRuns(mongo)
        self.tests = MongoCatalogTests(mongo)
        self.verdicts = MongoVerdicts(mongo)
        self.failures = MongoFailures(mongo)
        self.summaries = MongoHealthSummaries(mongo)
        self.scanned_verdicts = MongoVerdicts(mongo, fewest_scanned=1)

    async def fold(self, told: Sequence[Snapshot], rules: ProjectionRules = DEFAULT_RULES, *, size: int = 500) -> None:
        """Apply the snapshots in batches of this size."""
        projector = Projector(self.projections, rules)
        for start in range(0, len(told), size):
            await projector.apply_events(Batch.of(told[start : start + size]))

    async def tables(self) -> Tables:
        """Everything that is stored."""
        return await read_tables(self.mongo)

    async def clear(self) -> None:
        """Delete everything."""
        for name in (*(codec.collection for codec in TABLE_CODECS), COUNTERS, APP_HEALTH):
            await self.mongo.collection(name).delete_many({})


async def expire(projections: Projections, run_ids: Collection[str]) -> int:
    """Take the runs out of the lists; gives how many these were."""
    expired = 0

    async def work(transaction: ProjectionTransaction) -> None:
        nonlocal expired
        tables = Tables()
        await transaction.load(tables, RowKeys(runs=run_ids))
        expired = expire_runs(tables, run_ids)
        await transaction.save(tables)

    await projections.transaction(work)
    return expired


class StoredStory(Story):
    """A story that is folded into MongoDB before each lookup of a report, which waits `wait` seconds for events."""

    def __init__(
        self, store: MongoStore, clock: FakeClock | None = None, *, turns: ReportTurns | None = None, wait: float = 0.05
    ) -> None:
        super().__init__()
        self.store = store
        self.clock = clock or FakeClock(NOW)
        self.folding = asyncio.Lock()
        self._folded = 0
        read: Any = _UpToDate(store.read_models, self)
        tests: Any = _UpToDate(store.tests, self)
        verdicts: Any = _UpToDate(store.verdicts, self)
        failures: Any = _UpToDate(store.failures, self)
        self.sources = sources = ReportSources(
            *(read, tests, verdicts, failures, self.clock, turns or ReportTurns()),
            revision_wait=wait,
            ended_wait=wait,
            summaries=store.summaries,
        )
        self.apps = AppReports(sources)
        self.tests = TestReports(sources)
        self.branches = AppBranches(sources)
        self.flaky = FlakyTests(sources)
        self.durations = Durations(sources)
        self.healths = AppHealths(sources)
        self.runs = RunLists(read)
        self.classified = ClassifiedTests(sources)
        self.quarantines = Quarantines(tests, self.clock)
        self.comparisons = Comparisons(sources)
        self.breakages = Breakages(read, verdicts)
        self.failures = FailureReports(sources)
        self.gates = Gates(sources)
        self.build_gates = BuildGates(sources)

    async def fold(self) -> None:
        """Apply what was told since."""
        start, self._folded = self._folded, len(self.told)
        await self.store.fold(self.told[start:])


class StoredCiStory(CiStory, StoredStory):
    """See StoredStory."""

    async def gate(self, execution: str, base: str = "main", **known: int) -> Gate:
        """What the gate says; `known`: min_ended, total."""
        return await self.gates.of(GateRequest(execution, base, **known))


class _UpToDate:
    """Lookups that are answered when what was told by then is folded."""

    def __init__(self, lookups: object, story: StoredStory) -> None:
        self._lookups = lookups
        self._story = story

    def __getattr__(self, name: str) -> Any:
        lookup = getattr(self._lookups, name)

        async def answer(*args: Any, **kwargs: Any) -> Any:
            async with self._story.folding:
                await self._story.fold()
            return await lookup(*args, **kwargs)

        return answer
