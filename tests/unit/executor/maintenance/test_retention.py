"""Artifacts of runs that ended long ago are deleted, one batch of runs at a time."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from services.executor.maintenance.retention import BATCH, Retention
from tests.fakes.executor import Always

NOW = datetime(2026, 3, 4, tzinfo=UTC)


class FakeRetainedRuns:
    """Runs by id with their end in days before NOW, and a settable clock."""

    def __init__(self, **days: float) -> None:
        self.clock = NOW
        self.ended = {run_id: NOW - timedelta(days=ago) for run_id, ago in days.items()}
        self.expired: list[str] = []

    async def now(self) -> datetime:
        return self.clock

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        old = [run_id for run_id, ended in self.ended.items() if ended < moment and run_id not in self.expired]
        return sorted(old, key=lambda run_id: self.ended[run_id])[:limit]

    async def expire(self, run_ids: Sequence[str]) -> None:
        self.expired += run_ids


class FakeArtifactFiles:
    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.down = False

    async def delete_all(self, prefix: str) -> int:
        if self.down:
            raise OSError("away")
        self.deleted.append(prefix)
        return 1


async def test_artifacts_older_than_the_retention_period_are_deleted() -> None:
    kept, objects = FakeRetainedRuns(old=31, older=90, young=29), FakeArtifactFiles()
    retention = Retention(kept, objects, Always(), days=30)
    assert await retention.sweep() == 2
    assert (objects.deleted, kept.expired) == (["runs/older", "runs/old"], ["older", "old"])
    assert await retention.sweep() == 0
    kept.clock += timedelta(days=2)
    assert await retention.sweep() == 1


async def test_a_sweep_handles_one_batch() -> None:
    kept, objects = (
        FakeRetainedRuns(**{f"run{number}": 40 + number for number in range(BATCH + 5)}),
        FakeArtifactFiles(),
    )
    retention = Retention(kept, objects, Always(), days=30)
    assert [await retention.sweep() for _ in range(3)] == [BATCH, 5, 0]


async def test_an_interrupted_sweep_is_repeated() -> None:
    kept, objects = FakeRetainedRuns(old=31), FakeArtifactFiles()
    objects.down = True
    with pytest.raises(OSError, match="away"):
        await Retention(kept, objects, Always(), days=30).sweep()
    assert kept.expired == []
    objects.down = False
    assert await Retention(kept, objects, Always(), days=30).sweep() == 1
    assert kept.expired == ["old"]
