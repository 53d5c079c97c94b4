"""Leases are renewed, and cancelled or lost runs are stopped."""

from collections.abc import Mapping

import pytest

from services.chassis.context import bind
from services.executor.model.runs import Platform
from services.executor.model.states import Status
from services.executor.ports.runs import RunKey, StopReason
from services.executor.worker.lease_renewer import MAX_AGE_SECONDS, LeaseRenewer
from services.executor.worker.worker import Worker
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import CALLER, FAILED, run_of, started


async def holding(store: FakeExecutions) -> tuple[Worker, FakeAttempts, RunKey]:
    [key] = await started(store)
    attempts = FakeAttempts(blocking=True)
    worker = Worker(store, attempts, name="worker-1", slots=2)
    await worker.claim([key], Platform.ANDROID)
    await eventually(lambda: attempts.begun)
    return worker, attempts, key


async def test_a_held_lease_is_renewed() -> None:
    store = FakeExecutions()
    worker, _, _ = await holding(store)
    renewer = LeaseRenewer(store, worker, store.limits)
    store.advance(14)
    await renewer.renew()
    store.advance(14)
    assert await store.due(10) == []


async def test_a_cancelled_run_is_stopped_by_the_renewer() -> None:
    store = FakeExecutions()
    worker, attempts, key = await holding(store)
    with bind(CALLER):
        await store.cancel(key.execution_id)
    await LeaseRenewer(store, worker, store.limits).renew()
    await eventually(lambda: run_of(store, key).status is Status.CANCELLED)
    assert attempts.cancelled


async def test_a_lost_run_is_stopped_and_not_written() -> None:
    store = FakeExecutions()
    worker, attempts, key = await holding(store)
    store.advance(16)
    await store.expire(key)
    await LeaseRenewer(store, worker, store.limits).renew()
    await eventually(lambda: attempts.cancelled and not worker.active)
    assert run_of(store, key).status is Status.RUNNING


class FinishingMeanwhile(FakeExecutions):
    """Ends the attempt of a run between the renewer's read of its tokens and the notices about them."""

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        for run_id, token in tokens.items():
            await self.finish(RunKey(self.stored[run_id].execution_id, run_id), token, FAILED)
        return await super().notices(tokens)


async def test_a_run_whose_verdict_is_being_written_is_not_lost() -> None:
    store = FinishingMeanwhile()
    worker, _, key = await holding(store)
    active = worker.active[key.run_id]
    active.in_attempt = False
    await LeaseRenewer(store, worker, store.limits).renew()
    assert active.stop_reason is None


class CountingExecutions(FakeExecutions):
    """Counts the calls of a lease renewer."""

    calls = 0

    async def renew(self, tokens: Mapping[str, int]) -> None:
        self.calls += 1
        await super().renew(tokens)

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        self.calls += 1
        return await super().notices(tokens)


async def test_a_worker_without_runs_does_not_call_the_database() -> None:
    store = CountingExecutions()
    idle = Worker(store, FakeAttempts(), name="worker-1", slots=2)
    await LeaseRenewer(store, idle, store.limits).renew()
    assert store.calls == 0
    worker, _, _ = await holding(store)
    await LeaseRenewer(store, worker, store.limits).renew()
    assert store.calls == 2


async def test_liveness_fails_when_the_loop_is_stuck() -> None:
    store, now = FakeExecutions(), 100.0
    worker = Worker(store, FakeAttempts(), name="worker-1", slots=2)
    renewer = LeaseRenewer(store, worker, store.limits, clock=lambda: now)
    await renewer.check()
    now += MAX_AGE_SECONDS + 1
    with pytest.raises(RuntimeError, match="no lease was renewed for 61 s"):
        await renewer.check()
