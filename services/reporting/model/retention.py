"""Expiry of runs beyond the retention limits: they leave the lists, and no figure changes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from services.reporting.model.list_positions import move_in_lists
from services.reporting.model.tables import Tables


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How long runs stay in lists (None: without end), and how many per test (None: all); both apply."""

    age: timedelta | None = None
    per_test: int | None = None

    def __bool__(self) -> bool:
        """Whether there is a limit."""
        return self.age is not None or self.per_test is not None


def expire_runs(tables: Tables, run_ids: Iterable[str]) -> int:
    """Reduce those of these runs that have ended to what makes a repeated event a no-op; gives how many."""
    expired = 0
    for run_id in run_ids:
        row = tables.runs.get(run_id)
        if row is not None and row.status.terminal and not row.expired:
            reduced = replace(row, listed_at=None, list_item=b"")
            tables.runs.put(run_id, reduced)
            move_in_lists(tables, row, reduced)
            expired += 1
    return expired
