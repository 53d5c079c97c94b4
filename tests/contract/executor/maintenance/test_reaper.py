"""The reaper expires runs that are due, and no others."""

import asyncio
from collections.abc import Sequence

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.states import Status
from services.chassis import metrics
from services.executor.maintenance.reaper import Reaper
from services.executor.model.workers import KnownWorker, WorkerReport
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, run_of, started
from tests.eventually import eventually, stop
from tests.fakes.chassis import FakeLease
from tests.fakes.executor import plan


class FakeWorkers:
    """There are none."""

    async def report(self, worker: WorkerReport) -> None:
        raise NotImplementedError

    async def retire(self, worker_id: str) -> None:
        raise NotImplementedError

    async def all(self) -> Sequence[KnownWorker]:
        return ()


NO_WORKERS = FakeWorkers()


async def test_expired_leases_are_revoked_and_overdue_queued_runs_end(world: World) -> None:
    lost, old = await started(world, plan(), plan())
    reaper = Reaper(world.runs, NO_WORKERS, FakeLease(), world.limits)
    await world.advance((world.limits.queue_timeout - world.limits.lease_ttl).total_seconds())
    await claimed(world, lost)
    assert await reaper.reap() == 0
    await world.expire_leases()
    assert await reaper.reap() == 2
    run = await run_of(world, lost)
    assert (run.status, run.lease) == (Status.RUNNING, None)
    failure = (await run_of(world, old)).failure
    assert failure is not None
    assert failure.category is Category.DEVICE_UNAVAILABLE
    assert await reaper.reap() == 0


async def test_only_the_leader_shows_the_backlog(world: World) -> None:
    lease = FakeLease()
    await started(world)
    reaping = asyncio.create_task(Reaper(world.runs, NO_WORKERS, lease, world.limits, every=0.001).run())
    await eventually(lambda: shown("mobiletest_execution_oldest_unclaimed_seconds") is not None)
    assert shown("mobiletest_execution_stuck") == 0
    lease.times = 0
    await eventually(lambda: shown("mobiletest_execution_oldest_unclaimed_seconds") is None)
    assert shown("mobiletest_execution_stuck") is None
    lease.times = None
    await eventually(lambda: shown("mobiletest_execution_stuck") == 0)
    await stop(reaping)


def shown(name: str) -> float | None:
    return metrics.REGISTRY.get_sample_value(name)
