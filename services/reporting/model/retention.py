"""What becomes of runs that are beyond the bounds of retention: they leave the lists, and no figure changes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from services.reporting.model.list_positions import move_in_lists
from services.reporting.model.tables import Tables


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long runs stay in lists (None: for ever), and how many of a test (None: all). Both hold."""

    age: timedelta | None = None
    per_test: int | None = None

    def __bool__(self) -> bool:
        """Whether anything ever leaves."""
        return self.age is not None or self.per_test is not None


def expire_runs(tables: Tables, run_ids: Iterable[str]) -> int:
    """Leave of these runs what makes a repeat a no-op, if they have ended; how many that were."""
    expired = 0
    for run_id in run_ids:
        row = tables.runs.get(run_id)
        if row is not None and row.status.terminal and not row.expired:
            rest = replace(row, listed_at=None, list_item=b"")
            tables.runs.put(run_id, rest)
            move_in_lists(tables, row, rest)
            expired += 1
    return expired
