"""The port Runs: claims, attempts, leases and what ends a run."""

from uuid import uuid4

import pytest

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.states import Status
from services.executor.model.lifecycle import Fenced
from services.executor.ports.runs import RunKey, StopReason
from tests.contract.executor.conftest import LIMITS, World
from tests.contract.executor.executions import (
    BROKEN,
    FAILED,
    claimed,
    facts,
    finish,
    keys_of,
    run_of,
    running,
    start,
    started,
)
from tests.fakes.executor import plan


async def test_a_run_can_be_claimed_once(world: World) -> None:
    made = plan()
    execution = await start(world, made)
    [key] = await keys_of(world, execution)
    claim = await claimed(world, key)
    assert claim.plan == made
    assert (claim.run.status, claim.run.fencing_token, claim.attempt) == (Status.RUNNING, 1, 1)
    assert claim.seconds_left == LIMITS.run_timeout.total_seconds()
    assert claim.execution.status is Status.RUNNING
    for other in (key, RunKey(execution.id, str(uuid4()))):
        assert await world.runs.claim(other, "worker-2") is None


async def test_a_passing_attempt_ends_run_and_execution(world: World) -> None:
    claim = await running(world)
    run = await finish(world, claim, AttemptResult(device="phone-1", simulated=True))
    assert (run.status, run.success) == (Status.COMPLETED, True)
    ended = await world.executions.get(claim.execution.id)
    assert (ended.status, ended.success, ended.counts.passed) == (Status.COMPLETED, True, 1)
    assert [kind_status[1:] for kind_status in await facts(world, ended)] == [
        ("run", "queued"),
        ("execution", "queued"),
        ("run", "running"),
        ("execution", "running"),
        ("run", "completed"),
        ("execution", "completed"),
    ]


async def test_a_worker_with_an_old_token_cannot_write(world: World) -> None:
    zombie = await running(world)
    key = zombie.key
    await world.expire_leases()
    [due] = await world.runs.due(100)
    await world.runs.expire(due)
    owner = await claimed(world, key, "worker-2")
    for write in (world.runs.finish(key, zombie.run.fencing_token, AttemptResult()), world.runs.hand_back(key, 1)):
        with pytest.raises(Fenced):
            await write
    assert await world.runs.notices({key.run_id: zombie.run.fencing_token}) == {key.run_id: StopReason.LOST}
    run = await world.runs.finish(key, owner.run.fencing_token, FAILED)
    assert [attempt.number for attempt in run.attempts] == [1, 2]


async def test_a_lease_is_renewed_only_with_its_own_token(world: World) -> None:
    keys = await started(world, plan(), plan())
    held = [await claimed(world, key) for key in keys]
    await world.advance(400)
    await world.runs.renew({keys[0].run_id: held[0].run.fencing_token, keys[1].run_id: 99})
    await world.advance(400)
    assert await world.runs.due(100) == [keys[1]]


async def test_renewing_does_not_keep_a_run_beyond_its_deadline(world: World) -> None:
    claim = await running(world)
    await world.advance(LIMITS.run_timeout.total_seconds() + 1)
    await world.runs.renew({claim.run.id: claim.run.fencing_token})
    await world.advance(LIMITS.lease_ttl.total_seconds())
    await world.runs.expire(claim.key)
    run = await run_of(world, claim.key)
    assert run.failure is not None
    assert (run.status, run.failure.category) == (Status.FAILED, Category.RUN_TIMEOUT)


async def test_expiring_a_run_that_is_not_due_changes_nothing(world: World) -> None:
    claim = await running(world)
    before = await world.executions.get(claim.execution.id)
    await world.runs.expire(claim.key)
    assert await world.executions.get(claim.execution.id) == before
    assert await world.runs.notices({claim.run.id: claim.run.fencing_token}) == {}


async def test_claimable_runs_are_found_by_platform_and_oldest_first(world: World) -> None:
    executions = []
    for platform in (Platform.IOS, Platform.ANDROID, Platform.IOS):
        executions.append(await start(world, plan(platform=platform)))
        await world.advance(1)
    keys = await world.runs.claimable(Platform.IOS, 10)
    assert [key.execution_id for key in keys] == [executions[0].id, executions[2].id]
    assert len(await world.runs.claimable(Platform.IOS, 1)) == 1


async def test_runs_of_any_platform_wait_until_they_are_claimed(world: World) -> None:
    assert not await world.runs.is_any_waiting()
    [key] = await started(world, plan(platform=Platform.IOS))
    assert await world.runs.is_any_waiting()
    claim = await claimed(world, key)
    assert not await world.runs.is_any_waiting()
    await finish(world, claim, BROKEN)
    assert await world.runs.is_any_waiting(), "it waits for its next attempt"


async def test_an_infrastructure_failure_delays_the_next_claim(world: World) -> None:
    claim = await running(world)
    await finish(world, claim, BROKEN)
    assert await world.runs.claimable(Platform.ANDROID, 10) == []
    assert await world.runs.claim(claim.key, "worker-1") is None
    await world.advance(LIMITS.infrastructure_backoff.total_seconds())
    assert await world.runs.claimable(Platform.ANDROID, 10) == [claim.key]


async def test_a_retry_does_not_release_another_run(world: World) -> None:
    key, _ = await started(world, plan("1"), plan("2"), max_parallel=1)
    claim = await claimed(world, key)
    await finish(world, claim, FAILED)
    assert await world.runs.claimable(Platform.ANDROID, 10) == [key]


async def test_the_backlog_has_the_oldest_wait_and_the_stuck_runs(world: World) -> None:
    empty = await world.runs.backlog()
    assert (empty.oldest_seconds, empty.stuck) == (0.0, 0)
    key, _ = await started(world, plan(), plan())
    await claimed(world, key)
    assert (await world.runs.backlog()).stuck == 0
    await world.expire_leases()
    await world.advance(60)
    backlog = await world.runs.backlog()
    assert (backlog.oldest_seconds >= LIMITS.lease_ttl.total_seconds() + 61, backlog.stuck) == (True, 1)
