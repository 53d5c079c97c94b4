"""The page of waiting runs: positions on each platform, reasons, and what workflows hold back."""

from services.executor.model.limits import OrganisationLimits
from services.executor.model.runs import Platform
from services.executor.model.wait_reasons import WaitReason
from services.executor.model.workers import PoolReport, WorkerReport
from services.executor.ports.executions import PageRequest
from services.executor.storage.schema import WORKERS
from services.executor.storage.waiting_runs import MongoWaitingRuns
from services.executor.storage.workers import MongoWorkers
from services.executor.usecases.queue import QueueUseCases
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, started
from tests.fakes.executor import FakeLimitsSource, plan

ALL = PageRequest(1, 9)


def queue_of(world: World, limit: int | None = None) -> QueueUseCases:
    workers, limits = (
        MongoWorkers(world.mongo, seconds=600),
        FakeLimitsSource(OrganisationLimits(concurrent_runs=limit)),
    )
    return QueueUseCases(world.executions, MongoWaitingRuns(world.mongo), workers, limits)


async def report(world: World, *names: str) -> None:
    """These are the workers, with a phone each."""
    await world.mongo.collection(WORKERS).delete_many({})
    pools = (PoolReport(name="phones", platform=Platform.ANDROID, slots=1),)
    for name in names:
        await MongoWorkers(world.mongo, seconds=600).report(WorkerReport(id=name, name=name, slots=8, pools=pools))


async def test_positions_are_counted_by_platform_over_all_pages(world: World) -> None:
    await started(world, *(plan(platform=platform) for platform in (Platform.IOS, Platform.ANDROID) for _ in range(3)))
    pages = [await queue_of(world).queue(PageRequest(number, 2)) for number in (1, 2, 3, 4)]
    shown = [[(item.run.target.platform, item.ahead) for item in page.items] for page in pages]
    ios, android = Platform.IOS, Platform.ANDROID
    assert shown == [[(android, 0), (android, 1)], [(android, 2), (ios, 0)], [(ios, 1), (ios, 2)], []]
    assert {page.total for page in pages} == {6}


async def test_each_run_has_its_reason(world: World) -> None:
    key, *_ = await started(world, plan(), plan(), plan(platform=Platform.IOS))
    await report(world, "worker")
    reasons = [item.reason for item in (await queue_of(world).queue(ALL)).items]
    assert reasons == [WaitReason.NEXT, WaitReason.NO_FREE_DEVICE, WaitReason.NO_WORKER]
    await claimed(world, key)
    page = await queue_of(world, limit=1).queue(ALL)
    assert (page.running, [item.reason for item in page.items]) == (1, [WaitReason.RUN_LIMIT, WaitReason.NO_WORKER])
    assert "(concurrent_runs) is 1" in page.items[0].message


async def test_runs_that_a_workflow_holds_back_are_counted(world: World) -> None:
    """Not those that wait for another attempt: they have started."""
    first, _ = await started(world, plan(), plan())
    claim = await claimed(world, first)
    await world.runs.hand_back(first, claim.run.fencing_token)
    await started(world, *(plan() for _ in range(4)), max_parallel=1)
    page = await queue_of(world).queue(ALL)
    assert (page.total, page.held_back, page.running) == (3, 3, 0)


async def test_workers_come_in_pages(world: World) -> None:
    await report(world, "c", "a", "b")
    page = await queue_of(world).workers(PageRequest(2, 2))
    assert ([view.worker.report.name for view in page.items], page.total) == (["c"], 3)
    assert (page.devices, page.free_devices) == (3, 3)
