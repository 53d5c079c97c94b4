"""The reaper expires runs that are due, and no others."""

import asyncio
from dataclasses import dataclass

from services.chassis import metrics
from services.executor.maintenance.reaper import Reaper
from services.executor.model.states import Status
from tests.eventually import eventually
from tests.fakes.executor import plan
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import run_of, started


@dataclass
class FakeLease:
    """Granted as long as nobody else has it."""

    ours: bool = True

    async def acquire(self) -> bool:
        return self.ours

    async def release(self) -> None:
        return None


async def test_expired_leases_are_revoked_and_overdue_queued_runs_end() -> None:
    store = FakeExecutions()
    lost, old = await started(store, plan(), plan())
    reaper = Reaper(store, FakeLease(), store.limits)
    store.advance(3595)
    assert await store.claim(lost, "worker-1")
    assert await reaper.reap() == 0
    store.advance(20)
    assert await reaper.reap() == 2
    assert (run_of(store, lost).status, run_of(store, lost).lease) == (Status.RUNNING, None)
    assert run_of(store, old).status is Status.FAILED
    assert await reaper.reap() == 0


async def test_only_the_leader_shows_the_backlog() -> None:
    store, lease = FakeExecutions(), FakeLease()
    await started(store, plan())
    reaping = asyncio.create_task(Reaper(store, lease, store.limits, every=0.001).run())
    await eventually(lambda: shown("mobiletest_execution_oldest_unclaimed_seconds") is not None)
    assert shown("mobiletest_execution_stuck") == 0
    lease.ours = False
    await eventually(lambda: shown("mobiletest_execution_oldest_unclaimed_seconds") is None)
    assert shown("mobiletest_execution_stuck") is None
    lease.ours = True
    await eventually(lambda: shown("mobiletest_execution_stuck") == 0)
    reaping.cancel()


def shown(name: str) -> float | None:
    return metrics.REGISTRY.get_sample_value(name)
