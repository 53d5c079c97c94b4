"""The reaper expires runs that are due, and no others."""

from services.executor.maintenance.reaper import Reaper
from services.executor.model.states import Status
from tests.fakes.executor import plan
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import run_of, started


class Always:
    """A lease that is always granted."""

    async def acquire(self) -> bool:
        return True

    async def release(self) -> None:
        return None


async def test_expired_leases_are_revoked_and_overdue_queued_runs_end() -> None:
    store = FakeExecutions()
    lost, old = await started(store, plan(), plan())
    reaper = Reaper(store, Always(), store.limits)
    store.advance(3595)
    assert await store.claim(lost, "worker-1")
    assert await reaper.reap() == 0
    store.advance(20)
    assert await reaper.reap() == 2
    assert (run_of(store, lost).status, run_of(store, lost).lease) == (Status.RUNNING, None)
    assert run_of(store, old).status is Status.FAILED
    assert await reaper.reap() == 0
