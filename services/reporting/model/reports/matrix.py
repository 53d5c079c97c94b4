"""The test x build matrix."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.reporting.model.classification_detail import classification_detail
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.reports.worst_variant import (
    VariantCell,
    with_label,
    worst_assessment,
    worst_first,
)
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Quarantine, TestSnapshot
from services.reporting.model.tables import Cell, CellKey
from services.reporting.model.variants import KnownVariants, Subject


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
    """A page of builds, newest first, and all tests attached or seen on them, by name."""

    builds: Sequence[BuildSnapshot]
    rows: Sequence[MatrixRow]
    total_builds: int


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
