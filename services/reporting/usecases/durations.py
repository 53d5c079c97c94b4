"""The durations of an app's tests on its newest builds."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from services.chassis.turns import discard, in_turns, sorted_in_turns
from services.reporting.model.reports.durations import DurationSums, TestDuration, slowest_first
from services.reporting.model.reports.matrix import row_names
from services.reporting.model.variants import test_of
from services.reporting.ports import RowPage
from services.reporting.usecases.report_sources import KnownApps, ReportSources
from services.reporting.usecases.rows import finished_cells, newest_cells


@dataclass(frozen=True, slots=True)
class DurationsPage:
    """Tests, the slowest first, and how many there are on all pages."""

    tests: Sequence[TestDuration]
    total: int


class Durations:
    """How long tests of the caller's organisation take."""

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._apps = KnownApps(sources)
        self._turns = sources.turns

    async def of_app(
        self, app_id: str, page: RowPage, *, builds: int, min_revision: int | None = None
    ) -> DurationsPage:
        """A page of the tests that passed on one of the newest `builds`, without deleted tests.

        Raises:
            NotFound: no such app.
        """
        await self._apps.get(app_id, min_revision)
        async with self._turns.take():
            tests = await self._tests(app_id, builds)
        shown = await sorted_in_turns(tests, key=slowest_first)
        return DurationsPage(shown[page.skip : page.skip + page.limit], len(shown))

    async def _tests(self, app_id: str, builds: int) -> Sequence[TestDuration]:
        newest = await self._read.builds(app_id, RowPage(0, builds))
        cells = await self._read.cells_of_builds(app_id, [build.build_id for build in newest])
        finished = await finished_cells(cells)
        by_test = await newest_cells(finished)
        tests, attachments = await asyncio.gather(
            self._read.tests_by_id(by_test.keys()), self._read.attachments(app_id)
        )
        sums: dict[str, DurationSums] = {test_id: DurationSums() for test_id in by_test}
        async for (_, subject, build_id), cell in in_turns(finished.items()):
            sums[test_of(subject)].add(build_id, cell)
        names = row_names((each for each in attachments if each.test_id in by_test), by_test, tests)
        durations = [
            TestDuration(test_id, name, on_builds)
            async for test_id, name in in_turns(names.items())
            if not (test_id in tests and tests[test_id].deleted) and (on_builds := sums[test_id].on(newest))
        ]
        await discard(cells, finished)
        return durations
