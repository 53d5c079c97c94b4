"""The test x build matrix."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.reporting.model.classification_detail import classification_detail
from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment, Classification
from services.reporting.model.snapshots import AttachmentSnapshot, BuildSnapshot, Quarantine, TestSnapshot
from services.reporting.model.tables import Cell, CellKey


@dataclass(slots=True, unsafe_hash=True)
class MatrixCell:
    """A test on a build of the page. Nothing changes one; see tables.py for why it is not frozen."""

    build: BuildSnapshot
    cell: Cell


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


def finished_cells(cells: Mapping[CellKey, Cell]) -> dict[CellKey, Cell]:
    """The cells with a finished run; others are shown as missing."""
    return {key: cell for key, cell in cells.items() if cell.last_run is not None}


def row_names(
    attachments: Iterable[AttachmentSnapshot], cells: Mapping[CellKey, Cell], tests: Mapping[str, TestSnapshot]
) -> list[tuple[str, str]]:
    """(test id, name) of all rows, by name; the catalog's name, else that of the attachment, else of the newest run."""
    names: dict[str, str] = {test_id: "" for _, test_id, _ in cells}
    unknown = [(test_id, cell) for (_, test_id, _), cell in cells.items() if test_id not in tests]
    for test_id, cell in sorted(unknown, key=lambda item: item[1].last_run.recency if item[1].last_run else ()):
        names[test_id] = cell.test_name
    for attachment in attachments:
        names[attachment.test_id] = attachment.test_name
    names.update({test_id: tests[test_id].name for test_id in names if test_id in tests})
    return sorted(names.items(), key=lambda item: (item[1].casefold(), item[0]))


def evidence_builds(assessments: Iterable[Assessment]) -> set[str]:
    """Ids of the builds that the sentences name."""
    return set().union(*(assessment.evidence.named_builds for assessment in assessments))


def matrix_rows(
    names: Iterable[tuple[str, str]],
    builds: Sequence[BuildSnapshot],
    cells: Mapping[CellKey, Cell],
    *,
    assessments: Mapping[str, Assessment],
    versions: Mapping[str, str],
    quarantines: Mapping[str, Quarantine],
) -> list[MatrixRow]:
    """A row for each name; `versions` are the current versions of the builds that sentences name, by id, and
    `quarantines` the active ones by test.
    """
    found: list[MatrixRow] = []
    for test_id, name in names:
        assessment = assessments.get(test_id, UNKNOWN_ASSESSMENT)
        keys = [(build, (build.app_id, test_id, build.build_id)) for build in builds]
        found.append(
            MatrixRow(
                test_id=test_id,
                test_name=name,
                cells=[MatrixCell(build, cells[key]) for build, key in keys if key in cells],
                flaky_score=assessment.score,
                classification=assessment.classification,
                classification_detail=classification_detail(assessment, versions),
                quarantine=quarantines.get(test_id),
            )
        )
    return found
