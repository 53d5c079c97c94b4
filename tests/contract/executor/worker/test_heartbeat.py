"""Leases are renewed, and cancelled or lost runs are stopped."""

from collections.abc import Mapping

import pytest

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.states import Status
from services.executor.ports.runs import RunKey, Runs, StopReason
from services.executor.storage.runs import MongoRuns
from services.executor.worker.heartbeat import MAX_AGE_SECONDS, LeaseRenewer
from services.executor.worker.worker import Worker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import FAILED, lose, run_of, started
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts


async def holding(world: World, runs: Runs | None = None) -> tuple[Worker, FakeAttempts, RunKey]:
    [key] = await started(world)
    attempts = FakeAttempts(blocking=True)
    worker = Worker(runs or world.runs, attempts, name="worker-1", slots=2)
    await worker.claim([key], Platform.ANDROID)
    await eventually(lambda: attempts.begun)
    return worker, attempts, key


async def test_a_held_lease_is_renewed(world: World) -> None:
    worker, _, _ = await holding(world)
    most_of_a_lease = world.limits.lease_ttl.total_seconds() * 2 / 3
    await world.advance(most_of_a_lease)
    await LeaseRenewer(world.runs, worker, world.limits).renew()
    await world.advance(most_of_a_lease)
    assert await world.runs.due(10) == []


async def test_a_cancelled_run_is_stopped_by_the_renewer(world: World) -> None:
    worker, attempts, key = await holding(world)
    await world.executions.cancel(key.execution_id)
    await LeaseRenewer(world.runs, worker, world.limits).renew()
    await eventually(lambda: not worker.active)
    assert (await run_of(world, key)).status is Status.CANCELLED
    assert attempts.cancelled


async def test_a_lost_run_is_stopped_and_not_written(world: World) -> None:
    worker, attempts, key = await holding(world)
    await lose(world, key)
    await LeaseRenewer(world.runs, worker, world.limits).renew()
    await eventually(lambda: attempts.cancelled and not worker.active)
    assert (await run_of(world, key)).status is Status.RUNNING


class FinishingMeanwhile(MongoRuns):
    """Ends the attempt of a run between the renewer's read of its tokens and the notices about them."""

    key: RunKey

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        await self.finish(self.key, tokens[self.key.run_id], FAILED)
        return await super().notices(tokens)


async def test_a_run_whose_verdict_is_being_written_is_not_lost(world: World) -> None:
    runs = FinishingMeanwhile(world.transactions)
    worker, _, runs.key = await holding(world, runs)
    active = worker.active[runs.key.run_id]
    active.in_attempt = False
    await LeaseRenewer(runs, worker, world.limits).renew()
    assert active.stop_reason is None


class CountingRuns(MongoRuns):
    """Counts the calls of a lease renewer."""

    calls = 0

    async def renew(self, tokens: Mapping[str, int]) -> None:
        self.calls += 1
        await super().renew(tokens)

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        self.calls += 1
        return await super().notices(tokens)


async def test_a_worker_without_runs_does_not_call_the_database(world: World) -> None:
    runs = CountingRuns(world.transactions)
    idle = Worker(runs, FakeAttempts(), name="worker-1", slots=2)
    await LeaseRenewer(runs, idle, world.limits).renew()
    assert runs.calls == 0
    worker, _, _ = await holding(world, runs)
    await LeaseRenewer(runs, worker, world.limits).renew()
    assert runs.calls == 2


async def test_liveness_fails_when_the_loop_is_stuck(world: World) -> None:
    now = 100.0
    worker = Worker(world.runs, FakeAttempts(), name="worker-1", slots=2)
    renewer = LeaseRenewer(world.runs, worker, world.limits, clock=lambda: now)
    await renewer.check()
    now += MAX_AGE_SECONDS + 1
    with pytest.raises(RuntimeError, match="no lease was renewed for 61 s"):
        await renewer.check()
