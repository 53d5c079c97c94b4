"""A batch of snapshots that are folded together."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    ExecutionSnapshot,
    RunSnapshot,
    TestSnapshot,
)

Snapshot = RunSnapshot | ExecutionSnapshot | AppSnapshot | BuildSnapshot | TestSnapshot | AttachmentSnapshot
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
        return (self.runs, self.executions, self.apps, self.builds, self.tests, self.attachments)

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


def _put_newest(known: dict[K, S], key: K, snapshot: S) -> None:
    present = known.get(key)
    if present is None or snapshot.revision > present.revision:
        known[key] = snapshot
