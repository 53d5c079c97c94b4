"""What a report shows of a test that ran in several variants: the worst of them decides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.reporting.model.flaky import UNKNOWN_ASSESSMENT, Assessment, Classification
from services.reporting.model.snapshots import Outcome
from services.reporting.model.tables import Cell
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
    return f"{label}: {sentence}" if label else sentence


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
