"""The flaky tests of all apps, or of one, the flakiest first."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.chassis.turns import in_turns
from services.reporting.model.attempts import Attempt
from services.reporting.model.classification_detail import classification_detail
from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment
from services.reporting.model.reports.flaky_tests import ATTEMPTS_COUNTED, FlakyTest, flakes_of, wasted_seconds
from services.reporting.model.reports.matrix import evidence_builds
from services.reporting.model.snapshots import TestSnapshot, active_quarantines
from services.reporting.model.tables import HistoryKey
from services.reporting.model.variants import KnownVariants, Subject, test_of
from services.reporting.ports import RowPage
from services.reporting.usecases.report_sources import ReportSources

# So many of the flakiest are listed, of all apps or of one.
MOST_LISTED = 2_000


@dataclass(frozen=True, slots=True)
class FlakyPage:
    """Flaky tests, and how many there are on all pages; `listed_all`: no others are flaky."""

    tests: Sequence[FlakyTest]
    total: int
    listed_all: bool


class FlakyTests:
    """Lists flaky tests of the caller's organisation."""

    def __init__(self, sources: ReportSources, *, most: int = MOST_LISTED) -> None:
        """`most`: how many are listed."""
        self._most = most
        self._read = sources.read_models
        self._verdicts = sources.verdicts
        self._clock = sources.clock
        self._turns = sources.turns

    async def list(self, page: RowPage, app_id: str | None = None) -> FlakyPage:
        """A page of the tests that are flaky on an app, in each variant that is, without deleted tests and apps."""
        async with self._turns.take():
            found = await self._read.flakiest(app_id, limit=self._most + 1)
            flaky = found[: self._most]
            tests = await self._read.tests_by_id({test_of(subject) for _, subject in flaky})
            apps = await self._read.apps_by_id({app_id for app_id, _ in flaky})
            there = {each.test_id for each in tests.values() if not each.deleted}
            there |= {each.app_id for each in apps.values() if not each.deleted}
            kept = [key for key in flaky if {key[0], test_of(key[1])} <= there]
            shown = kept[page.skip : page.skip + page.limit]
            names = {app_id: app.name for app_id, app in apps.items()}
            described = await self._describe(shown, tests, names)
            return FlakyPage(described, len(kept), listed_all=len(found) <= self._most)

    async def _describe(
        self, keys: Sequence[HistoryKey], tests: Mapping[str, TestSnapshot], app_names: Mapping[str, str]
    ) -> Sequence[FlakyTest]:
        """All that is read of a test is of the builds and attempts by which it is judged."""
        attempts, assessed, variants = await asyncio.gather(
            self._verdicts.attempts(keys), self._assessments(keys), self._variants(keys)
        )
        wasted, versions = await asyncio.gather(self._wasted(attempts), self._versions(assessed.values()))
        quarantines = active_quarantines({test.test_id: test.quarantine for test in tests.values()}, self._clock.now())
        described = []
        async for key in in_turns(keys):
            tried, test_id = attempts.get(key, ()), test_of(key[1])
            flaky = FlakyTest(
                app_id=key[0],
                app_name=app_names[key[0]],
                test_id=test_id,
                test_name=tests[test_id].name,
                label=variants[key[0]].label(key[1]),
                assessment=assessed[key],
                detail=classification_detail(assessed[key], versions),
                flakes=flakes_of(tried),
                wasted_seconds=wasted.get(key, 0.0),
                newest_verdicts=[attempt.passed for attempt in tried[-ATTEMPTS_COUNTED:]],
                quarantine=quarantines.get(test_id),
            )
            described.append(flaky)
        return described

    async def _assessments(self, keys: Collection[HistoryKey]) -> dict[HistoryKey, Assessment]:
        assessed: dict[HistoryKey, Assessment] = dict.fromkeys(keys, UNKNOWN_ASSESSMENT)
        for app_id, subjects in _by_app(keys).items():
            found = await self._read.assessments(app_id, subjects)
            assessed.update({(app_id, subject): assessment for subject, assessment in found.items()})
        return assessed

    async def _variants(self, keys: Collection[HistoryKey]) -> dict[str, KnownVariants]:
        """By app, those of its tests."""
        subjects = _by_app(keys)
        tests = {app_id: {test_of(subject) for subject in subjects[app_id]} for app_id in subjects}
        return {app_id: await self._read.variants(app_id, tests[app_id]) for app_id in subjects}

    async def _wasted(self, attempts: Mapping[HistoryKey, Sequence[Attempt]]) -> dict[HistoryKey, float]:
        cells_of = {key: {(*key, attempt.build.id) for attempt in tried} for key, tried in attempts.items()}
        cells = await self._read.cells({cell for those in cells_of.values() for cell in those})
        return {key: wasted_seconds(cells[cell] for cell in those if cell in cells) for key, those in cells_of.items()}

    async def _versions(self, assessments: Iterable[Assessment]) -> dict[str, str]:
        builds = await self._read.builds_by_id(evidence_builds(assessments))
        return {build_id: build.version for build_id, build in builds.items()}


def _by_app(keys: Iterable[HistoryKey]) -> dict[str, list[Subject]]:
    by_app: dict[str, list[Subject]] = {}
    for app_id, subject in keys:
        by_app.setdefault(app_id, []).append(subject)
    return by_app
