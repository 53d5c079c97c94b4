"""Comparing two builds of an app."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from services.chassis.errors import InvalidArgument, NotFound, Violation
from services.chassis.turns import discard, in_turns
from services.reporting.model import counters
from services.reporting.model.reports.breakage import (
    ANY,
    Breakage,
    BuildVerdict,
    ComparedBuild,
    SearchSide,
    VerdictQuery,
    branch_scopes,
    build_verdict,
)
from services.reporting.model.reports.compare import (
    Comparison,
    ComparisonInputs,
    add_test,
    cells_by_subject,
    with_source_revision,
)
from services.reporting.model.snapshots import BuildSnapshot, TestSnapshot
from services.reporting.model.tables import Cell, CellKey
from services.reporting.model.variants import Subject, test_of
from services.reporting.usecases.breakages import Breakages
from services.reporting.usecases.report_sources import KnownBuilds, ReportSources
from services.reporting.usecases.rows import finished_cells, newest_cells, sorted_rows, triages_of_cells

BUILDS_SEARCHED = 50
# How many deleted builds of a branch in a row are skipped.
DELETED_BUILDS_SKIPPED = 10
NO_BASE = "Base build not found: no earlier build of the same branch, or of {branch}, has a verdict; name one with base"
OTHER_APP = "The base is a build of another app; only builds of one app can be compared"


@dataclass(frozen=True, slots=True)
class _ComparedSide:
    """One of the two builds, as the comparison shows it, its cells, and by subject the failures on it."""

    build: BuildSnapshot
    compared: ComparedBuild
    cells: Mapping[CellKey, Cell]
    failing: Mapping[Subject, BuildVerdict]


class Comparisons:
    """Compares builds of the caller's organisation."""

    def __init__(self, sources: ReportSources) -> None:
        self._turns = sources.turns
        self._read = sources.read_models
        self._verdicts = sources.verdicts
        self._failures = sources.failures
        self._breakages = Breakages(sources.read_models, sources.verdicts)
        self._clock = sources.clock
        self._builds = KnownBuilds(sources)

    async def compare(
        self, build_id: str, base_id: str | None = None, min_revision: int | None = None, base_branch: str = "main"
    ) -> Comparison:
        """The build compared with the base, or with the newest build before it of its branch, else of `base_branch`.

        `min_revision` waits (bounded) until the copy of the app has that revision.

        Raises:
            NotFound: no such build, or none before it with a verdict.
            InvalidArgument: the base is of another app.
            Unavailable: one of the builds is not known yet, although a caller that knows a revision knows that both
                exist.
        """
        build = await self._builds.get(build_id, min_revision)
        requested = await self._requested_base(build, base_id, exists=min_revision is not None) if base_id else None
        async with self._turns.take():
            side = await self._side(build)
            base = requested or await self._default_base(side, base_branch)
            return await self._compare(side, side if base.build_id == build_id else await self._side(base))

    async def base_of(self, build_id: str, min_revision: int | None = None, base_branch: str = "main") -> ComparedBuild:
        """The build with which `compare` compares without a base.

        Raises:
            NotFound: no such build, or none before it with a verdict.
            Unavailable: the build is not known yet.
        """
        build = await self._builds.get(build_id, min_revision)
        async with self._turns.take():
            base = await self._default_base(await self._side(build), base_branch)
            return (await self._side(base)).compared

    async def _requested_base(self, build: BuildSnapshot, base_id: str, *, exists: bool) -> BuildSnapshot:
        base = await self._builds.find(base_id, exists=exists)
        if base.app_id != build.app_id:
            raise InvalidArgument(OTHER_APP, violations=[Violation("base", OTHER_APP, "other_app")])
        return base

    async def _default_base(self, side: _ComparedSide, base_branch: str) -> BuildSnapshot:
        for branch in dict.fromkeys((side.compared.branch, base_branch)):
            if branch is not None and (base := await self._previous_of_tests(side, branch)):
                return base
        if not side.cells and (previous := await self._previous(side.build)):
            tested = await self._side(previous)
            if tested.compared.branch == base_branch:
                return previous
            if base := await self._previous_of(tested, base_branch):
                return base
        raise NotFound(NO_BASE.format(branch=base_branch))

    async def _previous_of_tests(self, side: _ComparedSide, branch: str) -> BuildSnapshot | None:
        """The newest earlier build of the branch with a verdict on one of its tests, if possible in the same variant.

        In other variants it is looked for among the builds right before it.
        """
        if base := await self._previous_of(side, branch):
            return base
        app_id, tests = side.build.app_id, {test_of(subject) for _, subject, _ in side.cells}
        if not await self._read.variants(app_id, tests):
            return None
        builds = await self._verdicts.builds_before(side.build, BUILDS_SEARCHED)
        named = await self._read.subjects_of_branch(app_id, [build.build_id for build in builds], branch)
        ran = {build_id async for build_id, subject in in_turns(named) if test_of(subject) in tests}
        return next((build for build in builds if build.build_id in ran), None)

    async def _previous_of(self, side: _ComparedSide, branch: str) -> BuildSnapshot | None:
        """The newest earlier build of the branch with a verdict on one of its tests, in the same variant."""
        query, best = VerdictQuery(SearchSide.BEFORE, ANY, (branch,), storms=True), None
        uploads: Mapping[CellKey, datetime] = {key: cell.uploaded_at for key, cell in side.cells.items()}
        for _ in range(DELETED_BUILDS_SKIPPED + 1):
            verdicts = await self._verdicts.find(uploads.keys(), query, uploads)
            builds = await self._read.builds_by_id({verdict.build_id for verdict in verdicts.values()})
            existing = {build_id: build for build_id, build in builds.items() if not build.deleted}
            best = max([*existing.values(), *([best] if best else [])], key=_build_order, default=None)
            deleted = [verdict for verdict in verdicts.values() if verdict.build_id not in existing]
            newer = [one for one in deleted if best is None or one.build_order > _build_order(best)]
            uploads = {verdict.key: verdict.uploaded_at for verdict in newer}
            if not uploads:
                break
        return best

    async def _previous(self, build: BuildSnapshot) -> BuildSnapshot | None:
        """The newest of the builds right before it that has a verdict."""
        builds = await self._verdicts.builds_before(build, BUILDS_SEARCHED)
        names = [counters.build(earlier.build_id) for earlier in builds]
        fields = await self._read.counters(names, ["passed", "failed"])
        counted = ((earlier, fields.get(counters.build(earlier.build_id), {})) for earlier in builds)
        return next((earlier for earlier, runs in counted if runs.get("passed") or runs.get("failed")), None)

    async def _side(self, build: BuildSnapshot) -> _ComparedSide:
        cells, sources = await asyncio.gather(
            self._read.cells_of_builds(build.app_id, [build.build_id]),
            self._read.build_sources(build.app_id, [build.build_id]),
        )
        failing = {
            key[1]: verdict
            async for key, cell in in_turns(cells.items())
            if (verdict := build_verdict(key, cell)) and verdict.fails
        }
        compared = with_source_revision(build, cells.values(), sources.get(build.build_id))
        return _ComparedSide(build, compared, cells, failing)

    async def _compare(self, side: _ComparedSide, base: _ComparedSide) -> Comparison:
        app_id = side.build.app_id
        newest = await newest_cells(await finished_cells({**base.cells, **side.cells}))
        attachments = await self._read.attachments(app_id)
        test_ids = {*newest, *(attachment.test_id for attachment in attachments)}
        variants = await self._read.variants(app_id, test_ids)
        tests, assessments, triages, breakages = await asyncio.gather(
            self._read.tests_by_id(test_ids),
            self._read.assessments(app_id, variants.of_tests(test_ids)),
            triages_of_cells(self._failures, app_id, side.cells.values()),
            self._find_breakages(side, base),
        )
        inputs = ComparisonInputs(
            cells=cells_by_subject(side.cells),
            base_cells=cells_by_subject(base.cells),
            tests=tests,
            variants=variants,
            assessments=assessments,
            breakages=breakages,
            triages=triages,
        )
        names = [row for row in await sorted_rows(attachments, newest, tests) if _exists(row[0], tests)]
        comparison, now = Comparison(app_id, side.compared, base.compared), self._clock.now()
        async for test_id, name in in_turns(names):
            add_test(comparison, test_id, name, inputs, now)
        for each in (side, base):
            await discard(each.cells, each.failing)
        return comparison

    async def _find_breakages(self, side: _ComparedSide, base: _ComparedSide) -> dict[Subject, Breakage]:
        """By subject, the breakage of its failure on the build, else of its failure on the base."""
        failing, base_failing = side.failing, base.failing
        on_build, on_base = await asyncio.gather(
            self._breakages.of(failing.values(), branch_scopes(side.compared.branch, base.compared.branch)),
            self._breakages.of(
                [verdict for subject, verdict in base_failing.items() if subject not in failing],
                branch_scopes(base.compared.branch, side.compared.branch),
            ),
        )
        return {subject: breakage for (_, subject, _), breakage in (on_build | on_base).items()}


def _build_order(build: BuildSnapshot) -> tuple[datetime, str]:
    """What builds are ordered by."""
    return (build.uploaded_at, build.build_id)


def _exists(test_id: str, tests: Mapping[str, TestSnapshot]) -> bool:
    """Deleted tests cannot be run again, so they are not compared."""
    return test_id not in tests or not tests[test_id].deleted
