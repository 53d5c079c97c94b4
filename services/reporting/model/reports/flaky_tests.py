"""What a flaky test costs, since when it flips, and whether that gets worse."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from services.reporting.model.attempts import Attempt, lone_failures, mixed_groups, order_attempts
from services.reporting.model.flaky import Assessment
from services.reporting.model.snapshots import Quarantine
from services.reporting.model.tables import Cell

# The attempts whose verdicts are shown, and in which flakes are counted.
ATTEMPTS_COUNTED = 20


@dataclass(frozen=True, slots=True)
class Flakes:
    """The failures that make a test flaky (see `flakes_of`): when the first began, None if there are none, and how many
    of its newest 20 attempts they are, and of the 20 before, None if fewer are retained.
    """

    first_seen_at: datetime | None
    newest: int
    former: int | None


@dataclass(frozen=True, slots=True)
class FlakyTest:
    """A flaky test on an app, in the variant that `label` tells from its others (empty without others).

    `flakes` and `wasted_seconds` are of the attempts that its history retains, `newest_verdicts` of the newest 20 of
    them, oldest first.
    """

    app_id: str
    app_name: str
    test_id: str
    test_name: str
    label: str
    assessment: Assessment
    detail: str
    flakes: Flakes
    wasted_seconds: float
    newest_verdicts: Sequence[bool]
    quarantine: Quarantine | None = None


def flakes_of(attempts: Sequence[Attempt]) -> Flakes:
    """The evidence of docs/flaky.md in these attempts, given oldest first: those that failed although their code passed
    too, or alone between passing builds.
    """
    calm = order_attempts(attempt for attempt in attempts if not attempt.storm)
    mixed = mixed_groups(calm.attempts)
    alone = {calm.attempts[index].recency for index in lone_failures(calm)}
    flaked = [not each.passed and (each.code in mixed or each.recency in alone) for each in attempts]
    former = flaked[:-ATTEMPTS_COUNTED][-ATTEMPTS_COUNTED:]
    return Flakes(
        first_seen_at=next((each.started_at for each, is_one in zip(attempts, flaked, strict=True) if is_one), None),
        newest=sum(flaked[-ATTEMPTS_COUNTED:]),
        former=sum(former) if len(former) == ATTEMPTS_COUNTED else None,
    )


def wasted_seconds(cells: Iterable[Cell]) -> float:
    """How long runs took on these builds that said nothing: they passed in a later attempt only, or failed where the
    test passed, too.
    """
    return sum(cell.retried_ms + (cell.failed_ms if cell.passed else 0) for cell in cells) / 1000
