"""What a batch changes about runs, compared with what was folded before."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.reporting.model.cells import failure_group
from services.reporting.model.list_positions import move_in_lists
from services.reporting.model.snapshots import Outcome, RunSnapshot
from services.reporting.model.tables import CellKey, Group, HistoryKey, RunRow, Tables


@dataclass(slots=True, unsafe_hash=True)
class RunChange:
    """A run, its former row and its new one; `outcome` and `group` are set only by the change that ends it."""

    run: RunSnapshot
    before: RunRow | None
    row: RunRow
    outcome: Outcome | None = None
    group: Group | None = None

    @property
    def cell(self) -> CellKey | None:
        """The cell that the run belongs to after the change."""
        return self.row.cell

    @property
    def history(self) -> HistoryKey | None:
        """The history that the run belongs to; None without an app."""
        return (self.run.app_id, self.run.subject) if self.run.app_id else None


def apply_runs(tables: Tables, runs: Iterable[RunSnapshot]) -> list[RunChange]:
    """Store the runs that are newer than the stored ones. Of a run that has ended only the list item changes."""
    changes: list[RunChange] = []
    for run in runs:
        before = tables.runs.get(run.run_id)
        if before is not None and run.revision <= before.revision:
            continue
        if before is not None and before.status.terminal:
            if run.status.terminal and not before.expired:
                _put(tables, run, before)
            continue
        row = _put(tables, run, before)
        changes.append(RunChange(run, before, row, run.outcome, failure_group(run)))
    return changes


def _put(tables: Tables, run: RunSnapshot, before: RunRow | None) -> RunRow:
    row = run_row(run)
    tables.runs.put(run.run_id, row)
    move_in_lists(tables, before, row)
    return row


def run_row(run: RunSnapshot) -> RunRow:
    """The run as it is stored."""
    return RunRow(
        org_id=run.org_id,
        revision=run.revision,
        status=run.status,
        execution_id=run.execution_id,
        test_id=run.test_id,
        app_id=run.app_id,
        build_id=run.build.id if run.build else None,
        listed_at=run.listed_at,
        list_item=run.list_item,
        variant=run.variant.id,
    )
