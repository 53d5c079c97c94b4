"""The comparison of two builds of an app, test by test (docs/gate.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment, Classification
from services.reporting.model.reports.breakage import Breakage, ComparedBuild
from services.reporting.model.reports.coverage import LastStatus
from services.reporting.model.snapshots import BuildSnapshot, Outcome, Quarantine, TestSnapshot, active_quarantine
from services.reporting.model.sources import BuildSource
from services.reporting.model.tables import Cell, CellKey, Group, LastRun
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import KnownVariants, Subject, test_of

Cells = Mapping[Subject, Cell]  # of one build


@dataclass(frozen=True, slots=True)
class ComparedTest:
    """A test on both builds. `failure` is the most frequent one on the build, None unless it fails there; `breakage` is
    that of the failure on the build, else that of the failure on the base; `triage` what people wrote about `failure`.
    """

    test_id: str
    test_name: str
    status: LastStatus
    base_status: LastStatus
    failure: Group | None
    execution_id: str | None
    breakage: Breakage | None
    classification: Classification
    flaky_score: float
    quarantine: Quarantine | None
    variant: str = ""
    triage: TriageSnapshot | None = None


@dataclass(slots=True)
class Comparison:
    """The tests by what changed, each list sorted by name; `passing` counts the tests in none of them."""

    app_id: str
    build: ComparedBuild
    base: ComparedBuild
    newly_failing: list[ComparedTest] = field(default_factory=list)
    never_passed: list[ComparedTest] = field(default_factory=list)
    not_run_before: list[ComparedTest] = field(default_factory=list)
    still_failing: list[ComparedTest] = field(default_factory=list)
    fixed: list[ComparedTest] = field(default_factory=list)
    flaky: list[ComparedTest] = field(default_factory=list)
    not_run: list[ComparedTest] = field(default_factory=list)
    passing: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonInputs:
    """The cells of both builds, assessments and breakages by subject, the tests by id, their variants, and what people
    wrote about failures by fingerprint.
    """

    cells: Cells
    base_cells: Cells
    tests: Mapping[str, TestSnapshot]
    variants: KnownVariants
    assessments: Mapping[Subject, Assessment]
    breakages: Mapping[Subject, Breakage]
    triages: Mapping[str, TriageSnapshot]


def cells_by_subject(cells: Mapping[CellKey, Cell]) -> dict[Subject, Cell]:
    """The cells of one build."""
    return {subject: cell for (_, subject, _), cell in cells.items()}


def with_source_revision(
    build: BuildSnapshot, cells: Iterable[Cell], source: BuildSource | None = None
) -> ComparedBuild:
    """The build with the branch and the commit of the newest run for which CI named any, and the repository."""
    named = max(
        (cell.source_revision for cell in cells if cell.source_revision), key=lambda named: named.recency, default=None
    )
    branch, commit = (named.branch, named.commit_sha) if named else (None, None)
    repository = source.repository.text if source and source.repository else None
    return ComparedBuild(build.build_id, build.version, build.uploaded_at, branch, commit, repository)


def add_test(comparison: Comparison, test_id: str, name: str, known: ComparisonInputs, now: datetime) -> None:
    """Add a test to the list that it belongs to. Tests come by name. Of several variants the worst one counts."""
    rows = [_row(subject, name, known, now) for subject in known.variants.subjects(test_id)]
    row = rows[0] if len(rows) == 1 else min(rows, key=lambda row: (_badness(comparison, row), row.variant))
    comparison.total += 1
    compared_tests = _list_of(comparison, row)
    if compared_tests is None:
        comparison.passing += 1
    else:
        compared_tests.append(row)


def _list_of(comparison: Comparison, row: ComparedTest) -> list[ComparedTest] | None:
    """The list of the test; None for one that passes and did not fail on the base."""
    if row.status is LastStatus.NOT_RUN:
        return comparison.not_run
    fails, failed = row.status is LastStatus.FAILED, row.base_status is LastStatus.FAILED
    if fails and failed:
        return comparison.still_failing
    if (fails or failed) and row.classification is Classification.FLAKY:
        return comparison.flaky
    if fails:
        return _newly_failing(comparison, row)
    return comparison.fixed if failed else None


def _badness(comparison: Comparison, row: ComparedTest) -> int:
    """The place of the row's list, worst first; a variant that did not run on the build hides no other."""
    new = (comparison.newly_failing, comparison.never_passed, comparison.not_run_before)
    lists = (*new, comparison.still_failing, comparison.flaky, comparison.fixed, None, comparison.not_run)
    compared_tests = _list_of(comparison, row)
    return next(place for place, each in enumerate(lists) if each is compared_tests)


def _newly_failing(comparison: Comparison, row: ComparedTest) -> list[ComparedTest]:
    """A test without a verdict on the base is newly failing if it passed on an earlier build of one of the branches."""
    breakage = row.breakage
    if row.base_status is LastStatus.PASSED or (breakage and breakage.last_passing):
        return comparison.newly_failing
    failed_before = breakage is not None and breakage.first_failing.build_id != comparison.build.build_id
    return comparison.never_passed if failed_before else comparison.not_run_before


def _row(subject: Subject, name: str, known: ComparisonInputs, now: datetime) -> ComparedTest:
    cell, base, test_id = known.cells.get(subject), known.base_cells.get(subject), test_of(subject)
    verdict = cell.verdict if cell else None
    test, assessment = known.tests.get(test_id), known.assessments.get(subject, UNKNOWN_ASSESSMENT)
    status = _status(verdict)
    failure = cell.groups[0] if status is LastStatus.FAILED and cell and cell.groups else None
    return ComparedTest(
        test_id=test_id,
        test_name=name,
        status=status,
        base_status=_status(base.verdict if base else None),
        failure=failure,
        execution_id=verdict.execution_id if verdict else None,
        breakage=known.breakages.get(subject),
        classification=assessment.classification,
        flaky_score=assessment.score,
        quarantine=active_quarantine(test.quarantine, now) if test else None,
        variant=known.variants.label(subject),
        triage=known.triages.get(failure.fingerprint) if failure else None,
    )


def _status(verdict: LastRun | None) -> LastStatus:
    if verdict is None:
        return LastStatus.NOT_RUN
    return LastStatus.PASSED if verdict.outcome is Outcome.PASSED else LastStatus.FAILED
