"""The reports on an app: lookups, composed by the pure functions of model/reports."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from services.chassis.turns import discard, list_in_turns, pause, sorted_in_turns
from services.reporting.model import counters
from services.reporting.model.flaky import Assessment
from services.reporting.model.list_positions import position_by_day
from services.reporting.model.reports import apps
from services.reporting.model.reports.coverage import (
    Coverage,
    CoverageInputs,
    Targets,
    coverage_items,
    item_order,
    newest_observed,
    past_cells,
    resolve_targets,
    target_cells,
    targeted_versions,
)
from services.reporting.model.reports.matrix import (
    Matrix,
    evidence_builds,
    matrix_rows,
)
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    Quarantine,
    TestSnapshot,
    active_quarantines,
)
from services.reporting.model.tables import Cell, CellKey
from services.reporting.model.variants import KnownVariants, Subject, test_of
from services.reporting.ports import RowPage
from services.reporting.usecases.report_sources import KnownApps, ReportSources
from services.reporting.usecases.rows import finished_cells, newest_cells, sorted_rows, triages_of_cells


@dataclass(frozen=True, slots=True)
class AttachedTests:
    """The attachments of an app to tests that are not deleted, and the tests by id, with deleted ones."""

    attachments: Sequence[AttachmentSnapshot]
    tests: dict[str, TestSnapshot]


# The variants of tests, and the assessment of each.
_Assessed = tuple[KnownVariants, dict[Subject, Assessment]]


class AppReports:
    """The reports on apps of the caller's organisation. Rates are fractions 0..1, days are UTC days.

    `min_revision` waits (bounded) until the copy of the app has that revision, so that a caller reads what it wrote.
    A caller that knows a revision knows that the app exists: it gets an empty report while the app is not known yet.
    """

    def __init__(self, sources: ReportSources) -> None:
        self._read = sources.read_models
        self._clock = sources.clock
        self._turns = sources.turns
        self._failures = sources.failures
        self._known = KnownApps(sources)

    async def stats(self, app_ids: Collection[str]) -> list[apps.AppStats]:
        """The stats of each app, in order; zeros for one that is not known."""
        today = self._clock.now().date()
        names = {name for app_id in app_ids for name in apps.stats_counters(app_id, today)}
        fields = await self._read.counters(names)
        return await list_in_turns(apps.app_stats(fields, app_id, today) for app_id in app_ids)

    async def workspace(
        self, app_id: str, trend_days: int, min_revision: int | None = None, *, build_id: str | None = None
    ) -> apps.ReportedWorkspace:
        """Stats, the trend of exactly `trend_days` days, and the health of the newest 50 builds, or of this one alone.

        Raises:
            NotFound: it does not exist.
        """
        app = await self._known.get(app_id, min_revision)
        async with self._turns.take():
            return await self._workspace(app_id, app, trend_days, build_id)

    async def _workspace(
        self, app_id: str, app: AppSnapshot | None, trend_days: int, build_id: str | None
    ) -> apps.ReportedWorkspace:
        today = self._clock.now().date()
        days = counters.last_days(today, trend_days)
        newest, attached = await asyncio.gather(
            self._read.builds(app_id, RowPage(0, 1 if build_id else apps.BUILDS_SHOWN)), self._attached(app_id)
        )
        builds = await self._build(app_id, build_id) if build_id else newest
        ids = [build.build_id for build in builds]
        names = {*apps.stats_counters(app_id, today), *counters.months(app_id, days)}
        variants = await self._read.variants(app_id, _test_ids(attached.attachments))
        fields, counted, verdicts, app_targets, sources = await asyncio.gather(
            self._read.counters(names),
            self._read.counters([counters.build(build_id) for build_id in ids], apps.BUILD_FIELDS),
            self._read.verdicts(app_id, ids, variants.of_tests(_test_ids(attached.attachments))),
            self._targets(app_id, app, newest, attached),
            self._read.build_sources(app_id, ids),
        )
        health = apps.build_health(
            builds, counted, verdicts, attachments=attached.attachments, targets=app_targets, sources=sources
        )
        return apps.ReportedWorkspace(apps.app_stats(fields, app_id, today), apps.trend(fields, app_id, days), health)

    async def _build(self, app_id: str, build_id: str) -> Sequence[BuildSnapshot]:
        """This build; empty if the app has none of this id that is not deleted."""
        builds = (await self._read.builds_by_id([build_id])).values()
        return [build for build in builds if build.app_id == app_id and not build.deleted]

    async def matrix(self, app_id: str, page: RowPage, min_revision: int | None = None) -> Matrix:
        """A page of builds, with a row for each test attached or seen on them.

        Raises:
            NotFound: it does not exist.
        """
        await self._known.get(app_id, min_revision)
        async with self._turns.take():
            return await self._matrix(app_id, page)

    async def _matrix(self, app_id: str, page: RowPage) -> Matrix:
        total = counters.app_all(app_id)
        (builds, cells), (attached, (variants, assessments)), fields = await asyncio.gather(
            self._builds_with_cells(app_id, page),
            self._attached_with_assessments(app_id),
            self._read.counters([total], ["builds"]),
        )
        newest = await newest_cells(cells)
        if others := newest.keys() - attached.tests.keys():
            tests, (more, assessed) = await asyncio.gather(
                self._read.tests_by_id(others), self._assessments(app_id, others)
            )
            attached.tests.update(tests)
            assessments.update(assessed)
            variants = variants.with_others(more)
        rows = matrix_rows(
            await sorted_rows(attached.attachments, newest, attached.tests),
            builds,
            cells,
            variants=variants,
            assessments=assessments,
            versions=await self._versions(evidence_builds(assessments.values()), builds),
            quarantines=self._quarantines(attached.tests),
        )
        triages = await triages_of_cells(self._failures, app_id, cells.values())
        return Matrix(builds, await list_in_turns(rows), fields.get(total, {}).get("builds", 0), triages)

    async def coverage(self, app_id: str, min_revision: int | None = None) -> Coverage:
        """The state of each attached test on its target build.

        Raises:
            NotFound: it does not exist.
        """
        app = await self._known.get(app_id, min_revision)
        async with self._turns.take():
            return await self._coverage(app_id, app)

    async def _coverage(self, app_id: str, app: AppSnapshot | None) -> Coverage:
        builds, attached = await asyncio.gather(self._read.builds(app_id, RowPage(0, 1)), self._attached(app_id))
        ids = _test_ids(attached.attachments)
        app_targets, variants = await asyncio.gather(
            self._targets(app_id, app, builds, attached), self._read.variants(app_id, ids)
        )
        observed, cells = await asyncio.gather(
            self._read.observed(app_id, variants.of_tests(ids)),
            self._read.cells(target_cells(attached.attachments, app_targets, variants)),
        )
        versions, past = await asyncio.gather(
            self._versions({build.id for build in observed.values() if build is not None}),
            self._read.cells(past_cells(app_id, observed, cells)),
        )
        await pause()
        names = {test_id: test.name for test_id, test in attached.tests.items()}
        known = CoverageInputs(
            names,
            newest_observed(observed, versions),
            {test_of(subject) for subject in observed},
            {**cells, **past},
            self._quarantines(attached.tests),
            variants,
        )
        items = await list_in_turns(coverage_items(attached.attachments, app_targets, known))
        items = await sorted_in_turns(items, key=item_order)
        await discard(cells, past, observed, attached.tests)
        return Coverage(app_targets.current, app_targets.newest, items)

    async def _builds(self, app_id: str, page: RowPage) -> Sequence[BuildSnapshot]:
        """A page of builds, counted from the day in which it begins."""
        if page.skip:
            counter = counters.app_builds(app_id)
            position = position_by_day((await self._read.counters([counter])).get(counter, {}), page.skip)
            if position is None:
                return []
            page = replace(page, skip=position.skip, before=position.before)
        return await self._read.builds(app_id, page)

    async def _builds_with_cells(
        self, app_id: str, page: RowPage
    ) -> tuple[Sequence[BuildSnapshot], Mapping[CellKey, Cell]]:
        builds = await self._builds(app_id, page)
        cells = await self._read.cells_of_builds(app_id, [build.build_id for build in builds])
        return builds, await finished_cells(cells)

    async def _attached(self, app_id: str) -> AttachedTests:
        attachments = await self._read.attachments(app_id)
        return _without_deleted(attachments, await self._read.tests_by_id(_test_ids(attachments)))

    async def _attached_with_assessments(self, app_id: str) -> tuple[AttachedTests, _Assessed]:
        """Also those of deleted tests, which may have cells."""
        attachments = await self._read.attachments(app_id)
        ids = _test_ids(attachments)
        tests, assessed = await asyncio.gather(self._read.tests_by_id(ids), self._assessments(app_id, ids))
        return _without_deleted(attachments, tests), assessed

    async def _assessments(self, app_id: str, test_ids: Collection[str]) -> _Assessed:
        variants = await self._read.variants(app_id, test_ids)
        return variants, dict(await self._read.assessments(app_id, variants.of_tests(test_ids)))

    async def _targets(
        self, app_id: str, app: AppSnapshot | None, newest: Sequence[BuildSnapshot], attached: AttachedTests
    ) -> Targets:
        current = app.current_version if app else None
        versions = targeted_versions(current, attached.attachments)
        named = await self._read.builds_of_versions(app_id, versions) if versions else ()
        return resolve_targets(current, newest[0] if newest else None, named)

    def _quarantines(self, tests: Mapping[str, TestSnapshot]) -> dict[str, Quarantine]:
        return active_quarantines({test_id: test.quarantine for test_id, test in tests.items()}, self._clock.now())

    async def _versions(self, build_ids: Collection[str], known: Sequence[BuildSnapshot] = ()) -> dict[str, str]:
        """The current versions of these builds, and of those that are known."""
        versions = {build.build_id: build.version for build in known}
        if others := set(build_ids) - versions.keys():
            versions |= {build_id: build.version for build_id, build in (await self._read.builds_by_id(others)).items()}
        return versions


def _test_ids(attachments: Sequence[AttachmentSnapshot]) -> list[str]:
    return [attachment.test_id for attachment in attachments]


def _without_deleted(attachments: Sequence[AttachmentSnapshot], tests: Mapping[str, TestSnapshot]) -> AttachedTests:
    """The attachments of tests that are not deleted, and all their tests."""
    deleted = {test_id for test_id, test in tests.items() if test.deleted}
    return AttachedTests([item for item in attachments if item.test_id not in deleted], dict(tests))
