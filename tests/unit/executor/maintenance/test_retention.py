"""Artifacts of runs that ended long ago are deleted, and the oldest of organisations that have too much."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pytest

from services.executor.maintenance.retention import BATCH, Retention
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.ports.runs import CountedEvidence
from tests.fakes.chassis import FakeLease
from tests.fakes.executor import FakeConfirmedLimits

NOW = datetime(2026, 3, 4, tzinfo=UTC)


class FakeRetainedRuns:
    """Runs of one organisation by id with their end in days before NOW, a byte each, and a settable clock."""

    def __init__(self, **days: float) -> None:
        self.clock = NOW
        self.ended = {run_id: NOW - timedelta(days=ago) for run_id, ago in days.items()}
        self.expired: list[str] = []
        self.counted: set[str] = set()
        self.miscounted = 0
        self.forgotten: list[str] = []

    async def now(self) -> datetime:
        return self.clock

    async def ended_before(self, moment: datetime, limit: int) -> list[str]:
        return [run_id for run_id in self._kept() if self.ended[run_id] < moment][:limit]

    def _kept(self) -> list[str]:
        return sorted(self.ended.keys() - set(self.expired), key=lambda run_id: self.ended[run_id])

    async def expire(self, run_ids: Sequence[str]) -> None:
        self.expired += run_ids

    async def count(self) -> CountedEvidence:
        new = self.ended.keys() - self.counted
        self.counted |= new
        return CountedEvidence(frozenset({"org"} if new else ()), complete=not new)

    async def organisations(self) -> Sequence[str]:
        return []

    async def used_bytes(self, org_id: str) -> int:
        return self.miscounted + len(self.counted - set(self.expired))

    async def oldest(self, org_id: str, excess: int, limit: int) -> list[str]:
        return self._kept()[: min(excess, limit)]

    async def forget(self, org_id: str) -> None:
        self.miscounted = 0
        self.forgotten.append(org_id)

    async def forget_days_before(self, day: date) -> None:
        pass


class FakeArtifactFiles:
    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.down = False

    async def delete_all(self, prefix: str) -> int:
        if self.down:
            raise OSError("away")
        self.deleted.append(prefix)
        return 1


class Scene:
    def __init__(self, kept: FakeRetainedRuns, *, days: float = 30, evidence_bytes: int | None = None) -> None:
        self.kept, self.files = kept, FakeArtifactFiles()
        self.limits = FakeConfirmedLimits(OrganisationLimits(evidence_bytes=evidence_bytes))
        self.retention = Retention(kept, self.files, FakeLease(), self.limits, days=days)

    async def sweep_all(self) -> None:
        while await self.retention.sweep():
            pass


async def test_artifacts_older_than_the_retention_period_are_deleted() -> None:
    scene = Scene(FakeRetainedRuns(old=31, older=90, young=29))
    await scene.sweep_all()
    assert (scene.files.deleted, scene.kept.expired) == (["runs/older", "runs/old"], ["older", "old"])
    scene.kept.clock += timedelta(days=2)
    await scene.sweep_all()
    assert scene.kept.expired == ["older", "old", "young"]


async def test_a_sweep_handles_one_batch() -> None:
    scene = Scene(FakeRetainedRuns(**{f"run{number}": 40 + number for number in range(BATCH + 5)}))
    assert await scene.retention.sweep()
    assert len(scene.kept.expired) == BATCH
    assert not await scene.retention.sweep()
    assert len(scene.kept.expired) == BATCH + 5


async def test_an_interrupted_sweep_is_repeated() -> None:
    scene = Scene(FakeRetainedRuns(old=31))
    scene.files.down = True
    with pytest.raises(OSError, match="away"):
        await scene.retention.sweep()
    assert scene.kept.expired == []
    scene.files.down = False
    await scene.sweep_all()
    assert scene.kept.expired == ["old"]


async def test_beyond_the_limit_the_runs_that_ended_first_lose_their_artifacts() -> None:
    scene = Scene(FakeRetainedRuns(**{f"run{ago}": ago for ago in range(BATCH + 10)}), days=0, evidence_bytes=3)
    await scene.sweep_all()
    assert set(scene.kept.ended) - set(scene.kept.expired) == {"run0", "run1", "run2"}
    assert scene.files.deleted == [f"runs/{run_id}" for run_id in scene.kept.expired]


async def test_nothing_is_deleted_for_a_limit_that_is_not_confirmed() -> None:
    """The operator may have allowed more than the default."""
    scene = Scene(FakeRetainedRuns(a=1, b=2), evidence_bytes=1)
    scene.limits.away = True
    await scene.sweep_all()
    assert scene.kept.expired == []
    scene.limits.away = False
    await scene.sweep_all()
    assert scene.kept.expired == ["b"]


async def test_a_sum_without_runs_is_forgotten() -> None:
    scene = Scene(FakeRetainedRuns(a=1), evidence_bytes=0)
    scene.kept.miscounted = 5
    await scene.sweep_all()
    assert (scene.kept.expired, scene.kept.forgotten) == (["a"], ["org"])
