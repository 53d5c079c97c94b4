"""Lists of tests by classification, and the quarantines that are active."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from services.chassis.clock import Clock
from services.chassis.text_search import search_pattern
from services.chassis.turns import in_turns
from services.reporting.model.flaky import Classification
from services.reporting.model.reports.matrix import worst_assessment
from services.reporting.model.snapshots import Quarantine, active_quarantines
from services.reporting.ports import CatalogTests, RowPage, TestFilter
from services.reporting.usecases.report_sources import ReportSources

# The class of a test without a history.
NO_HISTORY = Classification.INSUFFICIENT_DATA


@dataclass(frozen=True, slots=True)
class ClassifiedQuery:
    """Tests with a classification on any app, or on `app_id` among the tests attached to it.

    `quarantined`: only those that are in quarantine now.
    """

    classification: Classification
    app_id: str | None = None
    search: str | None = None
    platform: str | None = None
    tag: str | None = None
    quarantined: bool = False


@dataclass(frozen=True, slots=True)
class TestsPage:
    """The ids of the tests on a page, and how many there are on all pages."""

    __test__ = False

    test_ids: Sequence[str]
    total: int


class ClassifiedTests:
    """Lists tests by classification; the cost grows with the number of tests, not of runs."""

    def __init__(self, sources: ReportSources) -> None:
        self._turns = sources.turns
        self._read = sources.read_models
        self._tests = sources.tests
        self._clock = sources.clock

    async def list(self, query: ClassifiedQuery, page: RowPage) -> TestsPage:
        """A page of the matching tests that are not deleted, newest first, ids breaking ties."""
        pattern = search_pattern(query.search) if query.search else None
        if query.search and pattern is None:
            return TestsPage((), 0)
        async with self._turns.take():
            return await self._list(query, pattern, page)

    async def _list(self, query: ClassifiedQuery, pattern: str | None, page: RowPage) -> TestsPage:
        only, without = await self._candidates(query)
        moment = self._clock.now() if query.quarantined else None
        filter = TestFilter(query.platform, query.tag, pattern, quarantined_at=moment, only=only, without=without)
        if only is not None and not only:
            return TestsPage((), 0)
        tests, total = await asyncio.gather(self._tests.newest(filter, page), self._tests.count(filter))
        return TestsPage(tests, total)

    async def _candidates(self, query: ClassifiedQuery) -> tuple[frozenset[str] | None, frozenset[str]]:
        """The tests that may be in the list (None: all), and those that may not be."""
        if query.app_id is not None:
            return await self._on_app(query.app_id, query.classification), frozenset()
        classified = await self._tests.with_history(query.classification)
        if query.classification is not NO_HISTORY:
            return classified, frozenset()
        return None, await self._tests.with_history() - classified

    async def _on_app(self, app_id: str, classification: Classification) -> frozenset[str]:
        attached = [attachment.test_id for attachment in await self._read.attachments(app_id)]
        variants = await self._read.variants(app_id, attached)
        known = await self._read.assessments(app_id, variants.of_tests(attached))
        test_ids = {
            test_id
            async for test_id in in_turns(attached)
            if worst_assessment(test_id, variants, known).assessment.classification is classification
        }
        return frozenset(test_ids)


class Quarantines:
    """Looks up which tests are in quarantine."""

    def __init__(self, tests: CatalogTests, clock: Clock) -> None:
        self._tests = tests
        self._clock = clock

    async def of(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        """The active quarantines of these tests, by test."""
        return active_quarantines(await self._tests.quarantines(test_ids), self._clock.now()) if test_ids else {}
