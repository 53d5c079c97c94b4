"""The slots of a worker: how many runs it claims, and how it releases them."""

import pytest

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.states import Status
from services.executor.ports.runs import StopReason
from services.executor.storage.schema import EXECUTIONS
from services.executor.worker.worker import Worker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import lose, run_of, started
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan

ANDROID = Platform.ANDROID


def make(world: World, attempts: FakeAttempts, slots: int = 2) -> Worker:
    return Worker(world.runs, attempts, name="worker-1", slots=slots)


async def test_a_worker_claims_at_most_its_slots(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    keys = await started(world, plan(), plan(), plan())
    worker = make(world, attempts)
    assert await worker.claim(keys, ANDROID) == 2
    assert (worker.free_slots(ANDROID), len(worker.active)) == (0, 2)
    attempts.release.set()
    await eventually(lambda: worker.free_slots(ANDROID) == 2)
    assert [(await run_of(world, key)).status for key in keys] == [Status.COMPLETED, Status.COMPLETED, Status.QUEUED]


async def test_a_worker_claims_at_most_its_free_devices(world: World) -> None:
    [key] = await started(world)
    worker = make(world, FakeAttempts(devices=0))
    assert worker.free_slots(ANDROID) == 0
    assert await worker.claim([key], ANDROID) == 0


async def test_a_worker_claims_at_most_the_devices_that_other_workers_leave(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    keys = await started(world, plan(), plan(), plan())
    worker, attempts.left_by_others = make(world, attempts, slots=3), 1
    assert await worker.claim(keys, ANDROID) == 1
    assert await worker.claim(keys[1:], ANDROID) == 0
    attempts.left_by_others = 3
    assert await worker.claim(keys[1:], ANDROID) == 2


async def test_devices_of_runs_that_others_claimed_or_that_ended_are_let_go(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    mine, lost = await started(world, plan(), plan())
    assert await world.runs.claim(lost, "worker-2")
    worker = make(world, attempts)
    assert await worker.claim([mine, lost], ANDROID) == 1
    assert (attempts.settled, worker.free_slots(ANDROID)) == ([1], 1)
    attempts.release.set()
    await eventually(lambda: attempts.settled == [1, 0])


async def test_nothing_is_claimed_while_runs_cannot_be_executed(world: World) -> None:
    reachable = False
    [key] = await started(world)
    worker = Worker(world.runs, FakeAttempts(), name="worker-1", slots=2, can_execute=lambda: reachable)
    assert (worker.free_slots(ANDROID), await worker.claim([key], ANDROID)) == (0, 0)
    reachable = True
    assert await worker.claim([key], ANDROID) == 1


async def test_a_free_slot_is_announced(world: World) -> None:
    freed: list[int] = []
    [key] = await started(world)
    worker = make(world, FakeAttempts())
    worker.on_free_slot(lambda: freed.append(worker.free_slots(ANDROID)))
    await worker.claim([key], ANDROID)
    assert await eventually(lambda: freed) == [2]


async def test_draining_hands_back_long_runs_and_claims_nothing(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    first, second = await started(world, plan(), plan())
    worker = make(world, attempts)
    await worker.claim([first], ANDROID)
    await eventually(lambda: attempts.begun)
    await worker.drain(0)
    assert (await run_of(world, first)).attempts[0].handed_back
    assert worker.free_slots(ANDROID) == 0
    assert await worker.claim([second], ANDROID) == 0
    assert not worker.active


async def test_a_permanent_write_error_is_raised_by_watch(world: World) -> None:
    [key] = await started(world)
    worker = make(world, FakeAttempts())
    await worker.claim([key], ANDROID)
    await world.mongo.collection(EXECUTIONS).delete_one({"_id": key.execution_id})
    with pytest.raises(IndexError):
        await worker.watch()


async def test_a_lost_run_is_not_claimed_again_before_it_is_released(world: World) -> None:
    """Otherwise two tasks for one run would share its slot, and neither lease would be renewed."""
    attempts = FakeAttempts(blocking=True)
    [key] = await started(world)
    worker = make(world, attempts)
    await worker.claim([key], ANDROID)
    await lose(world, key)
    assert await worker.claim([key], ANDROID) == 0
    assert (await run_of(world, key)).attempt_number == 1
    worker.active[key.run_id].stop(StopReason.LOST)
    await eventually(lambda: not worker.active)
    assert await worker.claim([key], ANDROID) == 1
    assert list(worker.active) == [key.run_id]
