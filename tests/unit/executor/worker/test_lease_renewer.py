"""Leases are kept, and what happens to held runs is learnt."""

from collections.abc import Mapping

from services.chassis.context import bind
from services.executor.model.runs import Platform
from services.executor.model.states import Status
from services.executor.ports.runs import Notice, RunKey
from services.executor.worker.lease_renewer import LeaseRenewer
from services.executor.worker.worker import Worker
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, FakeExecutions
from tests.unit.executor.worker.builders import CALLER, FAILED, run_of, started


async def holding(store: FakeExecutions) -> tuple[Worker, FakeAttempts, RunKey]:
    [key] = await started(store)
    attempts = FakeAttempts(blocking=True)
    worker = Worker(store, attempts, name="worker-1", slots=2)
    await worker.take([key], Platform.ANDROID)
    await eventually(lambda: attempts.begun)
    return worker, attempts, key


async def test_a_held_lease_is_renewed() -> None:
    store = FakeExecutions()
    worker, _, _ = await holding(store)
    keeper = LeaseRenewer(store, worker, store.limits)
    store.advance(14)
    await keeper.look()
    store.advance(14)
    assert await store.due(10) == []


async def test_a_cancelled_run_is_stopped() -> None:
    store = FakeExecutions()
    worker, attempts, key = await holding(store)
    with bind(CALLER):
        await store.cancel(key.execution_id)
    await LeaseRenewer(store, worker, store.limits).look()
    await eventually(lambda: run_of(store, key).status is Status.CANCELLED)
    assert attempts.cancelled


async def test_a_run_that_was_lost_is_aborted_and_not_written() -> None:
    store = FakeExecutions()
    worker, attempts, key = await holding(store)
    store.advance(16)
    await store.expire(key)
    await LeaseRenewer(store, worker, store.limits).look()
    await eventually(lambda: attempts.cancelled and not worker.held)
    assert run_of(store, key).status is Status.RUNNING


class FinishingMeanwhile(FakeExecutions):
    """Ends the attempt of a run between the worker's look at its tokens and the answer about them."""

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, Notice]:
        for run_id, token in tokens.items():
            await self.finish(RunKey(self.stored[run_id].execution_id, run_id), token, FAILED)
        return await super().notices(tokens)


async def test_a_run_whose_verdict_this_worker_writes_itself_is_not_lost() -> None:
    store = FinishingMeanwhile()
    worker, _, key = await holding(store)
    held = worker.held[key.run_id]
    held.trying = False
    await LeaseRenewer(store, worker, store.limits).look()
    assert held.why is None


async def test_without_runs_nothing_is_asked() -> None:
    store = FakeExecutions()
    worker = Worker(store, FakeAttempts(), name="worker-1", slots=2)
    keeper = LeaseRenewer(store, worker, store.limits)
    await keeper.look()
    await keeper.check()
