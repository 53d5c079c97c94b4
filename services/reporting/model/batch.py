"""A batch of snapshots that are folded together, and what it changes about runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from services.reporting.model.cells import failure_group
from services.reporting.model.list_positions import move_in_lists
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    Outcome,
    RunSnapshot,
    TestSnapshot,
)
from services.reporting.model.tables import CellKey, FailureKey, Group, HistoryKey, RunRow, Tables
from services.reporting.model.triages import TriageSnapshot

Snapshot = (
    RunSnapshot | ExecutionSnapshot | AppSnapshot | BuildSnapshot | TestSnapshot | AttachmentSnapshot | TriageSnapshot
)
K = TypeVar("K")
S = TypeVar("S", bound=Snapshot)


@dataclass(slots=True)
class Batch:
    """The newest snapshot, by revision, of each thing."""

    runs: dict[str, RunSnapshot] = field(default_factory=dict)
    executions: dict[str, ExecutionSnapshot] = field(default_factory=dict)
    apps: dict[str, AppSnapshot] = field(default_factory=dict)
    builds: dict[str, BuildSnapshot] = field(default_factory=dict)
    tests: dict[str, TestSnapshot] = field(default_factory=dict)
    attachments: dict[tuple[str, str], AttachmentSnapshot] = field(default_factory=dict)
    triages: dict[FailureKey, TriageSnapshot] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshots: Iterable[Snapshot]) -> "Batch":
        """A batch of these, in any order and with any duplicates."""
        batch = cls()
        for snapshot in snapshots:
            batch._add(snapshot)
        return batch

    def __len__(self) -> int:
        return sum(map(len, self._tables()))

    def __getitem__(self, part: slice) -> "Batch":
        """A batch of some of these snapshots, which have always the same order."""
        snapshots: list[Snapshot] = [snapshot for table in self._tables() for snapshot in table.values()]
        return Batch.of(snapshots[part])

    def _tables(self) -> Iterable[dict[Any, Any]]:
        return (self.runs, self.executions, self.apps, self.builds, self.tests, self.attachments, self.triages)

    def _add(self, snapshot: Snapshot) -> None:
        match snapshot:
            case RunSnapshot():
                _put_newest(self.runs, snapshot.run_id, snapshot)
            case ExecutionSnapshot():
                _put_newest(self.executions, snapshot.execution_id, snapshot)
            case AppSnapshot():
                _put_newest(self.apps, snapshot.app_id, snapshot)
            case BuildSnapshot():
                _put_newest(self.builds, snapshot.build_id, snapshot)
            case TestSnapshot():
                _put_newest(self.tests, snapshot.test_id, snapshot)
            case AttachmentSnapshot():
                _put_newest(self.attachments, (snapshot.app_id, snapshot.test_id), snapshot)
            case TriageSnapshot():
                _put_newest(self.triages, (snapshot.app_id, snapshot.fingerprint), snapshot)


def _put_newest(known: dict[K, S], key: K, snapshot: S) -> None:
    present = known.get(key)
    if present is None or snapshot.revision > present.revision:
        known[key] = snapshot


@dataclass(slots=True, unsafe_hash=True)
class ChangedRun:
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

    @property
    def failure(self) -> FailureKey | None:
        """The failures of its app that it belongs to; None unless it ends now, failed, with an app."""
        return (self.run.app_id, self.group.fingerprint) if self.run.app_id and self.group else None


def apply_runs(tables: Tables, runs: Iterable[RunSnapshot]) -> list[ChangedRun]:
    """Store the runs that are newer than the stored ones. Of a run that has ended only the list item changes."""
    changes: list[ChangedRun] = []
    for run in runs:
        before = tables.runs.get(run.run_id)
        if before is not None and run.revision <= before.revision:
            continue
        # It has been counted. A later revision may complete the list item, but not bring back what retention removed.
        if before is not None and before.status.terminal:
            if run.status.terminal and not before.expired:
                _put(tables, run, before)
            continue
        row = _put(tables, run, before)
        changes.append(ChangedRun(run, before, row, run.outcome, failure_group(run)))
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
        result=run.result,
    )
