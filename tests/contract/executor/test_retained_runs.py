"""Expired and missing artifacts of runs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from services.executor.artifacts import ArtifactKey
from services.executor.model.attempts import Artifact, ArtifactGone, AttemptResult
from services.executor.model.failures import Category, Failure
from services.executor.ports.runs import RunKey
from services.executor.storage.runs import MongoRetainedRuns
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import finish, running

PICTURE = Artifact("attempt-1-step-000.png", "screenshot", "image/png", 3)
TREE = replace(PICTURE, name="attempt-1-step-000-tree.xml")
FAILED = AttemptResult(failure=Failure(Category.CONFIG_INVALID, "Not there."), artifacts=(PICTURE, TREE))


@pytest.fixture
def kept(world: World) -> MongoRetainedRuns:
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
