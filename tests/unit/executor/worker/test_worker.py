"""The slots of a worker: how many runs it claims, and how it releases them."""

import pytest

from services.executor.model.runs import Platform
from services.executor.model.states import Status
from services.executor.ports.runs import StopReason
from services.executor.worker.worker import Worker
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import run_of, started

ANDROID = Platform.ANDROID


def worker(store: FakeExecutions, attempts: FakeAttempts, slots: int = 2) -> Worker:
    return Worker(store, attempts, name="worker-1", slots=slots)


async def test_a_worker_claims_at_most_its_slots() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    keys = await started(store, plan(), plan(), plan())
    working = worker(store, attempts)
    assert await working.claim(keys, ANDROID) == 2
    assert (working.free_slots(ANDROID), len(working.active)) == (0, 2)
    attempts.release.set()
    await eventually(lambda: working.free_slots(ANDROID) == 2)
    assert [run_of(store, key).status for key in keys] == [Status.COMPLETED, Status.COMPLETED, Status.QUEUED]


async def test_a_worker_claims_at_most_its_free_devices() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    working = worker(store, FakeAttempts(devices=0))
    assert working.free_slots(ANDROID) == 0
    assert await working.claim([key], ANDROID) == 0


async def test_a_worker_claims_at_most_the_devices_that_other_workers_leave() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    keys = await started(store, plan(), plan(), plan())
    working, attempts.left_by_others = worker(store, attempts, slots=3), 1
    assert await working.claim(keys, ANDROID) == 1
    assert await working.claim(keys[1:], ANDROID) == 0
    attempts.left_by_others = 3
    assert await working.claim(keys[1:], ANDROID) == 2


async def test_devices_of_runs_that_others_claimed_or_that_ended_are_let_go() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    mine, lost = await started(store, plan(), plan())
    assert await store.claim(lost, "worker-2")
    working = worker(store, attempts)
    assert await working.claim([mine, lost], ANDROID) == 1
    assert attempts.settled == [1]
    attempts.release.set()
    await eventually(lambda: attempts.settled == [1, 0])


async def test_nothing_is_claimed_while_runs_cannot_be_executed() -> None:
    store, reachable = FakeExecutions(), False
    [key] = await started(store)
    working = Worker(store, FakeAttempts(), name="worker-1", slots=2, can_execute=lambda: reachable)
    assert (working.free_slots(ANDROID), await working.claim([key], ANDROID)) == (0, 0)
    reachable = True
    assert await working.claim([key], ANDROID) == 1


async def test_a_run_claimed_by_another_worker_uses_no_slot() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    [key] = await started(store)
    assert await store.claim(key, "worker-2")
    working = worker(store, attempts)
    assert await working.claim([key], ANDROID) == 0
    assert working.free_slots(ANDROID) == 2


async def test_a_free_slot_is_announced() -> None:
    store, freed = FakeExecutions(), []
    [key] = await started(store)
    working = worker(store, FakeAttempts())
    working.on_free_slot(lambda: freed.append(working.free_slots(ANDROID)))
    await working.claim([key], ANDROID)
    assert await eventually(lambda: freed) == [2]


async def test_draining_lets_short_runs_end() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    [key] = await started(store)
    working = worker(store, attempts)
    await working.claim([key], ANDROID)
    attempts.release.set()
    await working.drain(10)
    assert run_of(store, key).success is True


async def test_draining_hands_back_long_runs_and_claims_nothing() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    first, second = await started(store, plan(), plan())
    working = worker(store, attempts)
    await working.claim([first], ANDROID)
    await eventually(lambda: attempts.begun)
    await working.drain(0)
    assert run_of(store, first).attempts[0].handed_back
    assert working.free_slots(ANDROID) == 0
    assert await working.claim([second], ANDROID) == 0
    assert not working.active


async def test_a_permanent_write_error_is_raised_by_watch() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    working = worker(store, FakeAttempts())
    await working.claim([key], ANDROID)
    del store.executions[key.execution_id]
    with pytest.raises(KeyError):
        await working.watch()


async def test_a_lost_run_is_not_claimed_again_before_it_is_released() -> None:
    """Otherwise two tasks for one run would share its slot, and neither lease would be renewed."""
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    [key] = await started(store)
    working = worker(store, attempts)
    await working.claim([key], ANDROID)
    store.advance(16)
    await store.expire(key)
    assert await working.claim([key], ANDROID) == 0
    assert run_of(store, key).attempt_number == 1
    working.active[key.run_id].stop(StopReason.LOST)
    await eventually(lambda: not working.active)
    assert await working.claim([key], ANDROID) == 1
    assert list(working.active) == [key.run_id]
