"""How one test behaves on an app: its classification and its newest runs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from services.chassis.errors import NotFound
from services.reporting.model.classification_detail import classification_detail
from services.reporting.model.flaky import Assessment
from services.reporting.model.reports.matrix import WorstVariant, with_label, worst_assessment
from services.reporting.model.variants import KnownVariants, subject_of
from services.reporting.usecases.report_sources import KnownApps, ReportSources

RUNS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class TestReport:
    """The assessment of a test on an app with the sentence behind it, and its newest runs as lists show them."""

    __test__ = False

    assessment: Assessment
    detail: str
    runs: Sequence[bytes]


class TestReports:
    """Reports on tests of the caller's organisation; the cost grows with neither tests nor runs."""

    __test__ = False

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._apps = KnownApps(sources)

    async def of(
        self, app_id: str, test_id: str, variant_id: str | None = None, min_revision: int | None = None
    ) -> TestReport:
        """The report on a test in one variant or (None) in all: then the worst one decides the classification.

        `min_revision` waits (bounded) until the copy of the app has that revision.

        Raises:
            NotFound: no such app, or the test is not known and never ran on it.
        """
        await self._apps.get(app_id, min_revision)
        tests, variants, runs = await asyncio.gather(
            self._read.tests_by_id([test_id]),
            self._read.variants(app_id, [test_id]),
            self._read.runs_on_app(app_id, test_id, variant_id, limit=RUNS_SHOWN),
        )
        worst = await self._assess(app_id, test_id, variant_id, variants)
        if test_id not in tests and not runs and not worst.assessment.evidence.decided:
            raise NotFound("Test not found")
        named = await self._read.builds_by_id(worst.assessment.evidence.named_builds)
        versions = {build_id: build.version for build_id, build in named.items()}
        detail = with_label(worst.label, classification_detail(worst.assessment, versions))
        return TestReport(worst.assessment, detail, runs)

    async def _assess(self, app_id: str, test_id: str, variant_id: str | None, variants: KnownVariants) -> WorstVariant:
        if variant_id is None:
            assessments = await self._read.assessments(app_id, variants.of_tests([test_id]))
            return worst_assessment(test_id, variants, assessments)
        subject = subject_of(test_id, variant_id)
        known = await self._read.assessments(app_id, [subject])
        return WorstVariant(known[subject]) if subject in known else WorstVariant()
