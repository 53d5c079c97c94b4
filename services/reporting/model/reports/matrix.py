"""The test x build matrix. Of a test that ran in several variants, the worst decides what is shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.reporting.model.classification_detail import classification_detail, keep_direction
from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment, Classification
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Outcome, Quarantine, TestSnapshot
from services.reporting.model.tables import Cell, CellKey
from services.reporting.model.triages import TriageSnapshot
from services.reporting.model.variants import KnownVariants, Subject

# A variant of which little is known hides no other.
_WORST_FIRST = (
    Classification.BROKEN,
    Classification.REGRESSED,
    Classification.FLAKY,
    Classification.RECOVERED,
    Classification.STABLE,
    Classification.INSUFFICIENT_DATA,
)
_RANKS = {name: rank for rank, name in enumerate(_WORST_FIRST)}


def class_rank(classification: Classification) -> int:
    """The lower, the worse."""
    return _RANKS[classification]


@dataclass(frozen=True, slots=True)
class WorstVariant:
    """The assessment of a test, and what tells the variant that it is of from the others; empty without others."""

    assessment: Assessment = UNKNOWN_ASSESSMENT
    label: str = ""


def worst_assessment(test_id: str, variants: KnownVariants, assessments: Mapping[Subject, Assessment]) -> WorstVariant:
    """That of the worst of the test's variants: by class, then by score, and one that fails before one that passes."""
    known = [(assessments[subject], subject) for subject in variants.subjects(test_id) if subject in assessments]
    if not known:
        return WorstVariant()
    assessment, subject = min(known, key=lambda item: (*_badness(item[0]), item[1]))
    return WorstVariant(assessment, variants.label(subject))


def _badness(assessment: Assessment) -> tuple[int, float, bool]:
    failed = assessment.evidence.passed < assessment.evidence.attempts
    return class_rank(assessment.classification), -assessment.score, not failed


def with_label(label: str, sentence: str) -> str:
    """The sentence about a variant."""
    return f"{keep_direction(label)}: {sentence}" if label else sentence


@dataclass(frozen=True, slots=True)
class VariantCell:
    """A cell of one variant, and what tells it from the others of its test; empty without others."""

    label: str
    cell: Cell


def worst_first(cells: Iterable[VariantCell]) -> tuple[VariantCell, ...]:
    """The variants of a test on a build: those that fail, without a verdict, and that pass, each the newest first."""
    newest = sorted(cells, key=_recency, reverse=True)
    return tuple(sorted(newest, key=lambda item: _cell_rank(item.cell)))


def _recency(item: VariantCell) -> tuple[object, ...]:
    return (item.cell.last_run.recency if item.cell.last_run else (), item.label)


def _cell_rank(cell: Cell) -> int:
    if cell.verdict is not None:
        return 0 if cell.verdict.outcome is Outcome.FAILED else 2
    return 1


@dataclass(slots=True, unsafe_hash=True)
class MatrixCell:
    """A test on a build of the page, in each of its variants that ran there, worst first. Nothing changes one; see
    tables.py for why it is not frozen.
    """

    build: BuildSnapshot
    variants: tuple[VariantCell, ...]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A test: its cells in the order of the builds, and how it behaves."""

    test_id: str
    test_name: str
    cells: Sequence[MatrixCell]
    flaky_score: float
    classification: Classification
    classification_detail: str
    quarantine: Quarantine | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """A page of builds, newest first, all tests attached or seen on them, by name, and what people wrote about failures
    of the cells, by fingerprint.
    """

    builds: Sequence[BuildSnapshot]
    rows: Sequence[MatrixRow]
    total_builds: int
    triages: Mapping[str, TriageSnapshot]


def row_names(
    attachments: Iterable[AttachmentSnapshot], newest: Mapping[str, Cell], tests: Mapping[str, TestSnapshot]
) -> dict[str, str]:
    """By test, the name of its row: the catalog's, else that of the attachment, else that of the newest run. `newest`
    are the cells of the newest runs by test.
    """
    names = {test_id: cell.test_name for test_id, cell in newest.items()}
    names.update({attachment.test_id: attachment.test_name for attachment in attachments})
    return {test_id: tests[test_id].name if test_id in tests else name for test_id, name in names.items()}


def row_order(row: tuple[str, str]) -> tuple[str, str]:
    """What rows, as (test id, name), are sorted by: their names."""
    return (row[1].casefold(), row[0])


def evidence_builds(assessments: Iterable[Assessment]) -> set[str]:
    """Ids of the builds that the sentences name."""
    return set().union(*(assessment.evidence.named_builds for assessment in assessments))


def matrix_rows(
    names: Iterable[tuple[str, str]],
    builds: Sequence[BuildSnapshot],
    cells: Mapping[CellKey, Cell],
    *,
    variants: KnownVariants,
    assessments: Mapping[Subject, Assessment],
    versions: Mapping[str, str],
    quarantines: Mapping[str, Quarantine],
) -> Iterator[MatrixRow]:
    """A row for each name; `versions` are the current versions of the builds that sentences name, by id, and
    `quarantines` the active ones by test.
    """
    for test_id, name in names:
        worst = worst_assessment(test_id, variants, assessments)
        on_builds = ((build, _on_build(test_id, build, cells, variants)) for build in builds)
        detail = classification_detail(worst.assessment, versions)
        yield MatrixRow(
            test_id=test_id,
            test_name=name,
            cells=[MatrixCell(build, variant_cells) for build, variant_cells in on_builds if variant_cells],
            flaky_score=worst.assessment.score,
            classification=worst.assessment.classification,
            classification_detail=with_label(worst.label, detail),
            quarantine=quarantines.get(test_id),
        )


def _on_build(
    test_id: str, build: BuildSnapshot, cells: Mapping[CellKey, Cell], variants: KnownVariants
) -> tuple[VariantCell, ...]:
    """What ran of the test on the build, worst variant first."""
    keys = ((subject, (build.app_id, subject, build.build_id)) for subject in variants.subjects(test_id))
    variant_cells = [VariantCell(variants.label(subject), cells[key]) for subject, key in keys if key in cells]
    return worst_first(variant_cells) if len(variant_cells) > 1 else tuple(variant_cells)
