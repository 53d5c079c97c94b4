"""The sweep of retention: by age, by number, in its turn, in batches, over runs that have not ended."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from services.reporting.model.list_positions import RetentionLimits
from services.reporting.ports import ProjectionTransaction
from services.reporting.usecases.retention import BATCH, RetentionSweeper
from tests.fakes.reporting_expirable_runs import FakeExpirableRuns, FakeLease
from tests.fakes.reporting_read_models import FakeProjections
from tests.fakes.reporting_story import NOW, StillClock, Story

DAY = timedelta(days=1)


def expiring(story: Story, bounds: RetentionLimits, turn: FakeLease | None = None) -> RetentionSweeper:
    folds = FakeProjections(story.tables)
    return RetentionSweeper(
        FakeExpirableRuns(story.tables), folds, turn or FakeLease(), limits=bounds, clock=StillClock()
    )


def listed(story: Story) -> list[str]:
    return sorted(run_id for run_id, row in story.tables.runs.rows() if not row.expired)


@pytest.fixture
def aged(story: Story) -> Story:
    """A run of each of two tests on each of five days."""
    build = story.build("1.0")
    for day in range(5):
        story.run("t", build, at=NOW - day * DAY, run_id=f"t{day}")
        story.run("u", build, at=NOW - day * DAY, run_id=f"u{day}")
    return story


async def test_runs_expire_by_age(aged: Story) -> None:
    assert await expiring(aged, RetentionLimits(age=timedelta(days=2.5))).sweep() == 4
    assert listed(aged) == ["t0", "t1", "t2", "u0", "u1", "u2"]


async def test_the_newest_runs_of_each_test_stay(aged: Story) -> None:
    assert await expiring(aged, RetentionLimits(per_test=2)).sweep() == 6
    assert listed(aged) == ["t0", "t1", "u0", "u1"]


async def test_both_limits_apply(aged: Story) -> None:
    await expiring(aged, RetentionLimits(age=timedelta(days=3.5), per_test=4)).sweep()
    assert listed(aged) == [f"{test}{day}" for test in "tu" for day in range(4)]


async def test_a_second_sweep_finds_nothing(aged: Story) -> None:
    sweep = expiring(aged, RetentionLimits(per_test=1))
    assert [await sweep.sweep(), await sweep.sweep()] == [8, 0]


async def test_active_runs_stay_and_do_not_block_others(story: Story) -> None:
    build = story.build("1.0")
    for number in range(6):
        story.run("t", build, "queued" if number % 2 else "passed", at=NOW - number * DAY, run_id=f"t{number}")
    assert await expiring(story, RetentionLimits(per_test=1)).sweep() == 2
    assert listed(story) == ["t0", "t1", "t3", "t5"]


async def test_more_than_a_batch_expires_in_one_sweep(story: Story) -> None:
    for number in range(BATCH + 3):
        story.run("t", None, at=NOW - timedelta(minutes=number), app=None)
    assert await expiring(story, RetentionLimits(per_test=1)).sweep() == BATCH + 2


async def test_nothing_expires_without_the_lease(aged: Story) -> None:
    assert await expiring(aged, RetentionLimits(per_test=1), FakeLease(times=0)).sweep() == 0
    assert len(listed(aged)) == 10


async def test_empty_days_are_removed(aged: Story) -> None:
    await expiring(aged, RetentionLimits(per_test=1)).sweep()
    names = {name for _, name in dict(aged.tables.counters.rows())}
    assert [name for name in sorted(names) if name.startswith("test:t:")] == [f"test:t:{NOW:%Y-%m-%d}"]
    counted = aged.tables.counters.get(("org-1", "test:t"))
    assert counted == {"runs": 5, "listed": 1, f"{NOW:%Y-%m-%d}": 1}


async def test_a_lost_race_is_retried(aged: Story) -> None:
    folds = FakeProjections(aged.tables)
    folds.lost_races = 1
    sweep = RetentionSweeper(
        FakeExpirableRuns(aged.tables), folds, FakeLease(), limits=RetentionLimits(per_test=1), clock=StillClock()
    )
    assert await sweep.sweep() == 8


class Rebuilding(FakeProjections):
    """Folds into the generation that is being built, too, which has no run yet."""

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        await super().transaction(work)
        await FakeProjections().transaction(work)


async def test_a_sweep_during_a_rebuild_expires_and_counts_every_run(story: Story) -> None:
    for number in range(2 * BATCH + 3):
        story.run("t", None, at=NOW - timedelta(minutes=number), app=None)
    turn, bounds = FakeLease(), RetentionLimits(per_test=1)
    sweep = RetentionSweeper(
        FakeExpirableRuns(story.tables), Rebuilding(story.tables), turn, limits=bounds, clock=StillClock()
    )
    assert await sweep.sweep() == 2 * BATCH + 2
