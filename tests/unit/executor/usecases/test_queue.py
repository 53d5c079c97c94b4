"""The page of waiting runs: positions on each platform, reasons, and what workflows hold back."""

from collections.abc import Iterator

import pytest

from services.chassis.context import Caller, bind
from services.executor.model.limits import OrganisationLimits
from services.executor.model.runs import Platform
from services.executor.model.wait_reasons import WaitReason
from services.executor.model.workers import PoolReport, WorkerReport
from services.executor.ports.executions import PageRequest
from services.executor.usecases.queue import QueueUseCases
from tests.fakes.executor import plan
from tests.fakes.executor_baselines import FakeLimitsSource
from tests.fakes.executor_executions import FakeExecutions
from tests.fakes.executor_queue import FakeWaitingRuns, FakeWorkers
from tests.unit.executor.worker.builders import CALLER, started


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    with bind(CALLER) as bound:
        yield bound


def queue_of(store: FakeExecutions, workers: FakeWorkers, limit: int | None = None) -> QueueUseCases:
    limits = FakeLimitsSource(OrganisationLimits(concurrent_runs=limit))
    return QueueUseCases(store, FakeWaitingRuns(store), workers, limits)


async def report(workers: FakeWorkers, name: str = "worker", slots: int = 1) -> None:
    pools = (PoolReport(name="phones", platform=Platform.ANDROID, slots=slots),)
    await workers.report(WorkerReport(id=name, name=name, slots=8, pools=pools))


async def test_positions_are_counted_by_platform_over_all_pages() -> None:
    store = FakeExecutions()
    await started(store, *(plan(platform=platform) for platform in (Platform.IOS, Platform.ANDROID) for _ in range(3)))
    queue = queue_of(store, FakeWorkers())
    pages = [await queue.queue(PageRequest(number, 2)) for number in (1, 2, 3, 4)]
    shown = [[(item.run.target.platform, item.ahead) for item in page.items] for page in pages]
    ios, android = Platform.IOS, Platform.ANDROID
    assert shown == [[(android, 0), (android, 1)], [(android, 2), (ios, 0)], [(ios, 1), (ios, 2)], []]
    assert {page.total for page in pages} == {6}


async def test_each_run_has_its_reason() -> None:
    store, workers = FakeExecutions(), FakeWorkers()
    keys = await started(store, plan(), plan(), plan(platform=Platform.IOS))
    await report(workers)
    reasons = [item.reason for item in (await queue_of(store, workers).queue(PageRequest(1, 9))).items]
    assert reasons == [WaitReason.NEXT, WaitReason.NO_FREE_DEVICE, WaitReason.NO_WORKER]
    await store.claim(keys[0], "worker")
    page = await queue_of(store, workers, limit=1).queue(PageRequest(1, 9))
    assert (page.running, [item.reason for item in page.items]) == (1, [WaitReason.RUN_LIMIT, WaitReason.NO_WORKER])
    assert "(concurrent_runs) is 1" in page.items[0].message


async def test_runs_that_a_workflow_holds_back_are_counted() -> None:
    """Not those that wait for another attempt: they have started."""
    store = FakeExecutions()
    [first, *_] = await started(store, plan(), plan())
    claim = await store.claim(first, "worker")
    assert claim is not None
    await store.hand_back(first, claim.run.fencing_token)
    await started(store, *(plan() for _ in range(4)), max_parallel=1)
    page = await queue_of(store, FakeWorkers()).queue(PageRequest(1, 9))
    assert (page.total, page.held_back, page.running) == (3, 3, 0)


async def test_workers_come_in_pages() -> None:
    workers = FakeWorkers()
    for name in ("c", "a", "b"):
        await report(workers, name)
    page = await queue_of(FakeExecutions(), workers).workers(PageRequest(2, 2))
    assert ([view.worker.report.name for view in page.items], page.total) == (["c"], 3)
    assert (page.devices, page.free_devices) == (3, 3)
