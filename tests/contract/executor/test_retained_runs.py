"""Expired and missing artifacts of runs, and how many bytes are kept."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, ArtifactGone, AttemptResult
from services.chassis.context import current
from services.chassis.object_store import ObjectStore
from services.executor.artifacts import ArtifactKey, run_prefix
from services.executor.maintenance.retention import Retention
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.ports.runs import RunKey
from services.executor.storage.retained_runs import COUNTED_AFTER, WINDOW, MongoRetainedRuns
from services.executor.storage.schema import ARTIFACTS_KEPT_SINCE, EVIDENCE, RUNS
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import finish, running
from tests.fakes.chassis import FakeLease
from tests.fakes.executor import FakeConfirmedLimits

PICTURE = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 3)
TREE = replace(PICTURE, name="attempt-1-step-000-tree.xml")
FAILED = AttemptResult(failure=Failure(Category.CONFIG_INVALID, "Not there."), artifacts=(PICTURE, TREE))


@pytest.fixture
async def kept(world: World) -> MongoRetainedRuns:
    await world.mongo.collection(EVIDENCE).delete_many({})
    return MongoRetainedRuns(world.transactions)


async def ended(world: World, result: AttemptResult) -> RunKey:
    claim = await running(world)
    await finish(world, claim, result)
    return claim.key


async def gone(world: World, key: RunKey) -> list[ArtifactGone | None]:
    run = await world.executions.run(key.execution_id, key.run_id)
    return [artifact.gone for attempt in run.attempts for artifact in attempt.artifacts]


async def test_ended_runs_are_found_until_they_are_expired(world: World, kept: MongoRetainedRuns) -> None:
    key = await ended(world, FAILED)
    now = await kept.now()
    assert await kept.ended_before(now - timedelta(days=1), 10) == []
    assert await kept.ended_before(now + timedelta(days=1), 10) == [key.run_id]
    for _ in range(2):
        await kept.expire([key.run_id])
        assert await kept.ended_before(now + timedelta(days=1), 10) == []
        assert await gone(world, key) == [ArtifactGone.EXPIRED, ArtifactGone.EXPIRED]


async def test_passed_runs_without_artifacts_are_skipped(world: World, kept: MongoRetainedRuns) -> None:
    await ended(world, AttemptResult())
    assert await kept.ended_before(await kept.now() + timedelta(days=1), 10) == []


async def test_a_single_artifact_is_marked_missing(world: World, kept: MongoRetainedRuns) -> None:
    key = await ended(world, FAILED)
    await kept.mark_missing(ArtifactKey(key.run_id, 1, TREE.name))
    await kept.mark_missing(ArtifactKey(key.run_id, 2, PICTURE.name))
    await kept.mark_missing(ArtifactKey("nobody", 1, PICTURE.name))
    assert await gone(world, key) == [None, ArtifactGone.MISSING]


async def move_ends(world: World, earlier: timedelta, *keys: RunKey) -> None:
    """Ends of runs are those of MongoDB's clock, which cannot be set."""
    moved = {"$subtract": [f"${ARTIFACTS_KEPT_SINCE}", earlier // timedelta(milliseconds=1)]}
    query = {"_id": {"$in": [key.run_id for key in keys]}}
    await world.mongo.collection(RUNS).update_many(query, [{"$set": {ARTIFACTS_KEPT_SINCE: moved}}])


async def count_all(kept: MongoRetainedRuns) -> set[str]:
    grown: set[str] = set()
    while not (counted := await kept.count()).complete:
        grown |= counted.org_ids
    return grown | counted.org_ids


async def test_evidence_is_counted_once(world: World, kept: MongoRetainedRuns) -> None:
    org_id = current().org_id
    first, second = await ended(world, FAILED), await ended(world, FAILED)
    assert await count_all(kept) == set()  # those that ended just now come later
    await move_ends(world, WINDOW * 3, first)
    await move_ends(world, COUNTED_AFTER * 2, second)
    assert await count_all(kept) == {org_id}
    assert await kept.organisations() == [org_id]
    for _ in range(2):
        assert await kept.used_bytes(org_id) == 4 * PICTURE.size_bytes
        assert await count_all(kept) == set()
    assert await kept.used_bytes(org_id[:-1]) == 0


async def test_what_is_deleted_is_subtracted_once(world: World, kept: MongoRetainedRuns) -> None:
    """Also by two processes at once, and not at all if it was not counted yet."""
    counted, new = await ended(world, FAILED), await ended(world, FAILED)
    await move_ends(world, COUNTED_AFTER * 2, counted)
    await count_all(kept)
    await kept.expire([new.run_id])
    assert await kept.used_bytes(current().org_id) == 2 * PICTURE.size_bytes
    await asyncio.gather(*(kept.expire([counted.run_id]) for _ in range(3)))
    assert await kept.used_bytes(current().org_id) == 0


async def test_runs_are_counted_once_by_processes_that_count_at_once(world: World, kept: MongoRetainedRuns) -> None:
    await move_ends(world, COUNTED_AFTER * 2, await ended(world, FAILED))
    await asyncio.gather(*(MongoRetainedRuns(world.transactions).count() for _ in range(3)))
    assert await kept.used_bytes(current().org_id) == 2 * PICTURE.size_bytes


async def test_the_oldest_runs_are_those_that_ended_first(world: World, kept: MongoRetainedRuns) -> None:
    org_id = current().org_id
    keys = [await ended(world, FAILED) for _ in range(4)]
    for key, ago in zip(keys, (3, 1, 2), strict=False):
        await move_ends(world, timedelta(hours=ago), key)
    await count_all(kept)
    oldest = [keys[0].run_id, keys[2].run_id, keys[1].run_id]  # and not the last, which is not counted yet
    size = 2 * PICTURE.size_bytes
    assert await kept.oldest(org_id, size, 10) == oldest[:1]
    assert await kept.oldest(org_id, size + 1, 10) == oldest[:2]
    assert await kept.oldest(org_id, 100 * size, 10) == oldest
    assert await kept.oldest(org_id, 100 * size, 1) == oldest[:1]
    assert await kept.oldest("another", size, 10) == []


async def test_artifacts_are_kept_from_the_start_of_a_run_until_they_expire(
    world: World, kept: MongoRetainedRuns
) -> None:
    claim = await running(world)
    assert await kept.is_kept(claim.key.run_id)
    await finish(world, claim, FAILED)
    assert await kept.is_kept(claim.key.run_id)
    await kept.expire([claim.key.run_id])
    assert not await kept.is_kept(claim.key.run_id)
    assert not await kept.is_kept("nobody")


async def test_days_and_organisations_are_forgotten(world: World, kept: MongoRetainedRuns) -> None:
    org_id = current().org_id
    await move_ends(world, timedelta(days=2), await ended(world, FAILED))
    await move_ends(world, timedelta(hours=1), await ended(world, FAILED))
    await count_all(kept)
    await kept.forget_days_before((await kept.now() - timedelta(days=1)).date())
    assert await kept.used_bytes(org_id) == 2 * PICTURE.size_bytes
    await kept.forget(org_id)
    assert await kept.used_bytes(org_id) == 0


async def test_a_client_does_not_fill_the_store(world: World, kept: MongoRetainedRuns) -> None:
    """Of five runs with six bytes each, those that ended last are kept, and that of the run under way."""
    store = ObjectStore.open("memory:///")
    keys = [await ended(world, FAILED) for _ in range(5)]
    under_way = (await running(world)).key
    for ago, key in enumerate(reversed(keys), start=1):
        await move_ends(world, timedelta(hours=ago), key)
    for key in (*keys, under_way):
        for name in (PICTURE.name, TREE.name):
            await store.put_bytes(str(ArtifactKey(key.run_id, 1, name)), b"123")
    limits = FakeConfirmedLimits(OrganisationLimits(evidence_bytes=12))
    retention = Retention(kept, store, FakeLease(), limits, days=30)
    while await retention.sweep():
        pass
    assert await kept.used_bytes(current().org_id) == 12
    for key in keys[:3]:
        assert await gone(world, key) == [ArtifactGone.EXPIRED] * 2
        assert await store.delete_all(run_prefix(key.run_id)) == 0
    for key in keys[3:]:
        assert await gone(world, key) == [None] * 2
    for key in (*keys[3:], under_way):
        assert await store.delete_all(run_prefix(key.run_id)) == 2
