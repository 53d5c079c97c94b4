"""Retention beside folds and beside itself, on a real MongoDB under a real lease."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from random import Random
from uuid import uuid4

import pytest

from services.chassis.leases import Lease
from services.chassis.mongo import Mongo
from services.reporting.model.batch import Batch
from services.reporting.model.list_positions import RetentionLimits, expire_runs
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.model.tables import Table
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.projections import MongoProjections
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.retention import RetentionSweeper
from tests.contract.reporting.tables import contents, read_tables
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import NOW, StillClock, Story


def expiring(mongo: Mongo, name: str, bounds: RetentionLimits) -> RetentionSweeper:
    turn = Lease(mongo, name, str(uuid4()), seconds=60)
    return RetentionSweeper(MongoExpirableRuns(mongo), MongoProjections(mongo), turn, limits=bounds, clock=StillClock())


@pytest.fixture
def story() -> Story:
    """Three tests on two builds, sixty runs on thirty days."""
    story = Story()
    builds = [story.build("1.0"), story.build("1.1")]
    for number in range(60):
        ending = "failed" if number % 7 == 0 else "passed"
        story.run(f"test-{number % 3}", builds[number % 2], ending, at=NOW - timedelta(hours=12 * number))
    return story


async def test_runs_that_expire_while_their_events_are_folded_count_once(mongo: Mongo, story: Story) -> None:
    folding, random = Projector(MongoProjections(mongo)), Random(5)
    await folding.apply_events(Batch.of(story.told))
    runs = [one for one in story.told if isinstance(one, RunSnapshot)]
    told = [*runs, *(replace(run, revision=run.revision + 100, list_item=b"later") for run in runs)]
    again = [random.sample(told, 40) for _ in range(12)]
    await asyncio.gather(
        expiring(mongo, "one", RetentionLimits(age=timedelta(days=6))).sweep(),
        *(folding.apply_events(Batch.of(some)) for some in again),
    )
    await expiring(mongo, "one", RetentionLimits(age=timedelta(days=6))).sweep()
    stored = await read_tables(mongo)
    expected = recount([*story.told, *(one for some in again for one in some)])
    gone = {run_id for run_id, row in stored.runs.rows() if row.expired}
    expire_runs(expected, gone)
    assert len(gone) == 48
    for tables in (stored, expected):  # an expired run keeps the revision that it had
        tables.runs = Table((run_id, row) for run_id, row in tables.runs.rows() if run_id not in gone)
    assert contents(stored) == contents(expected)


async def test_two_sweeps_at_once_do_no_harm(mongo: Mongo, story: Story) -> None:
    await Projector(MongoProjections(mongo)).apply_events(Batch.of(story.told))
    bounds = RetentionLimits(per_test=5)
    await asyncio.gather(*(expiring(mongo, name, bounds).sweep() for name in ("one", "two")))
    stored = await read_tables(mongo)
    expected = recount(story.told)
    expire_runs(expected, [run_id for run_id, row in stored.runs.rows() if row.expired])
    assert contents(stored) == contents(expected)
    assert sum(not row.expired for _, row in stored.runs.rows()) == 15


async def test_a_sweep_without_the_lease_does_nothing(mongo: Mongo, story: Story) -> None:
    await Projector(MongoProjections(mongo)).apply_events(Batch.of(story.told))
    other = Lease(mongo, "shared", "another", seconds=60)
    assert await other.acquire()
    sweep = expiring(mongo, "shared", RetentionLimits(per_test=5))
    assert await sweep.sweep() == 0
    await other.release()
    assert await sweep.sweep() == 45


async def test_expired_runs_take_little_space(mongo: Mongo, story: Story) -> None:
    await Projector(MongoProjections(mongo)).apply_events(Batch.of(story.told))
    await expiring(mongo, "one", RetentionLimits(per_test=5)).sweep()
    rest = await mongo.collection("runs").find_one({"listed_at": {"$exists": False}})
    assert set(rest) == {"_id", "org_id", "revision", "status", "execution_id", "test_id", "app_id", "build_id"}
