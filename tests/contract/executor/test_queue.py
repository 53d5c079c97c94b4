"""The queue: waiting runs of an organisation, reports of workers, and what is shown of both."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest

from mobiletest_automation.model.devices import Platform
from services.chassis.mongo import Mongo
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.model.wait_reasons import WaitReason
from services.executor.model.workers import PoolReport, WorkerReport, WorkerState
from services.executor.ports.executions import Page
from services.executor.storage.executions import MongoWaitingRuns
from services.executor.storage.schema import WORKERS
from services.executor.storage.workers import MongoWorkers
from services.executor.usecases.queue import QueueUseCases
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import claimed, start, started
from tests.contract.executor.test_fair_queue import next_claim
from tests.fakes.executor import FakeLimitsSource, plan

ALL = Page(1, 50)


async def test_waiting_runs_are_in_the_order_of_claims(world: World) -> None:
    """Android first, started ones before all priorities; none of other organisations, and none that a worker has."""
    waiting = MongoWaitingRuns(world.mongo)
    await start(world, priority=-10)
    claim = await next_claim(world)
    assert claim is not None
    await start(world, plan("low", platform=Platform.IOS), plan("low"), priority=-3)
    await start(world, plan("high"), priority=10)
    await start(world, plan("foreign"), org_id=str(uuid4()), priority=10)
    assert [run.target.test_name for run in await waiting.page(ALL)] == ["high", "low", "low"]
    await world.runs.hand_back(claim.key, claim.run.fencing_token)
    runs = await waiting.page(ALL)
    assert [run.target.test_name for run in runs] == ["Log in", "high", "low", "low"]
    assert [run.target.platform for run in runs[2:]] == [Platform.ANDROID, Platform.IOS]
    assert [run.id for run in await waiting.page(Page(2, 3))] == [runs[3].id]
    ranks = {(Platform.ANDROID, 0): 1, (Platform.ANDROID, 1): 1, (Platform.ANDROID, 14): 1, (Platform.IOS, 14): 1}
    assert dict(await waiting.counts()) == ranks


async def test_the_claim_order_is_that_of_the_list(world: World) -> None:
    waiting = MongoWaitingRuns(world.mongo)
    for priority in (0, 10, -10, 3):
        await start(world, plan(), plan(), priority=priority)
    listed = [run.id for run in await waiting.page(ALL)]
    claims = [await next_claim(world) for _ in listed]
    assert [claim.run.id for claim in claims if claim] == listed
    assert await waiting.page(ALL) == []


@dataclass
class Reports:
    """The port, and a way to let workers fall silent."""

    workers: MongoWorkers
    silence: Callable[[], Awaitable[None]]


@pytest.fixture
async def reports(mongo: Mongo) -> Reports:
    stored = mongo.collection(WORKERS)
    await stored.delete_many({})

    async def expire() -> None:
        await stored.update_many({}, [{"$set": {"alive_until": "$$NOW"}}])

    return Reports(MongoWorkers(mongo, seconds=600), expire)


POOL = PoolReport(
    name="$phones",
    platform=Platform.IOS,
    slots=3,
    busy=(1, 3),
    labels=("$HOME", "iPhone"),
    shared="phones at http://hub",
    organisation="a",
    not_for=("b", "c"),
)


def report(name: str = "worker", **fields: Any) -> WorkerReport:
    return replace(WorkerReport(id=f"id of {name}", name=name, slots=4, pools=(POOL,)), **fields)


async def test_a_report_is_stored_as_it_is(reports: Reports) -> None:
    """Also texts that look like fields of MongoDB."""
    await reports.workers.report(report())
    [known] = await reports.workers.all()
    assert (known.report, known.state) == (report(), WorkerState.ACTIVE)
    assert known.started_at == known.heartbeat_at


async def test_the_latest_report_counts(reports: Reports) -> None:
    await reports.workers.report(report(running=1))
    [first] = await reports.workers.all()
    await reports.workers.report(report(running=2, stopping=True))
    [known] = await reports.workers.all()
    assert (known.report.running, known.state, known.started_at) == (2, WorkerState.STOPPING, first.started_at)


async def test_a_silent_worker_is_lost_until_it_reports_again(reports: Reports) -> None:
    await reports.workers.report(report())
    await reports.silence()
    await reports.workers.report(report("other"))
    assert {each.report.name: each.silent for each in await reports.workers.all()} == {"worker": True, "other": False}
    await reports.workers.report(report())
    assert not any(each.silent for each in await reports.workers.all())


async def test_a_worker_that_has_ended_is_forgotten(reports: Reports) -> None:
    await reports.workers.report(report())
    await reports.workers.report(report("other"))
    await reports.workers.retire("id of worker")
    assert [each.report.name for each in await reports.workers.all()] == ["other"]


def queue_of(world: World, limit: int | None = None) -> QueueUseCases:
    workers, limits = (
        MongoWorkers(world.mongo, seconds=600),
        FakeLimitsSource(OrganisationLimits(concurrent_runs=limit)),
    )
    return QueueUseCases(world.executions, MongoWaitingRuns(world.mongo), workers, limits)


async def have_workers(world: World, *names: str) -> None:
    """These are the workers, with a phone each."""
    await world.mongo.collection(WORKERS).delete_many({})
    pools = (PoolReport(name="phones", platform=Platform.ANDROID, slots=1),)
    for name in names:
        await MongoWorkers(world.mongo, seconds=600).report(WorkerReport(id=name, name=name, slots=8, pools=pools))


async def test_positions_are_counted_by_platform_over_all_pages(world: World) -> None:
    await started(world, *(plan(platform=platform) for platform in (Platform.IOS, Platform.ANDROID) for _ in range(3)))
    pages = [await queue_of(world).queue(Page(number, 2)) for number in (1, 2, 3, 4)]
    shown = [[(item.run.target.platform, item.ahead) for item in page.items] for page in pages]
    ios, android = Platform.IOS, Platform.ANDROID
    assert shown == [[(android, 0), (android, 1)], [(android, 2), (ios, 0)], [(ios, 1), (ios, 2)], []]
    assert {page.total for page in pages} == {6}


async def test_each_run_has_its_reason(world: World) -> None:
    key, *_ = await started(world, plan(), plan(), plan(platform=Platform.IOS))
    await have_workers(world, "worker")
    reasons = [item.reason for item in (await queue_of(world).queue(ALL)).items]
    assert reasons == [WaitReason.NEXT, WaitReason.NO_FREE_DEVICE, WaitReason.NO_WORKER]
    await claimed(world, key)
    page = await queue_of(world, limit=1).queue(ALL)
    assert page.running == {Platform.ANDROID: 1}
    assert [item.reason for item in page.items] == [WaitReason.RUN_LIMIT, WaitReason.NO_WORKER]
    assert "(concurrent_runs) is 1" in page.items[0].message


async def test_runs_that_a_workflow_holds_back_are_counted(world: World) -> None:
    """Not those that wait for another attempt: they have started."""
    first, _ = await started(world, plan(), plan())
    claim = await claimed(world, first)
    await world.runs.hand_back(first, claim.run.fencing_token)
    await started(world, *(plan() for _ in range(4)), max_parallel=1)
    page = await queue_of(world).queue(ALL)
    assert (page.total, page.held_back, page.running) == (3, 3, {})
    assert dict(page.waiting) == {Platform.ANDROID: 3}


async def test_workers_come_in_pages(world: World) -> None:
    await have_workers(world, "c", "a", "b")
    page = await queue_of(world).workers(Page(2, 2))
    assert ([view.worker.report.name for view in page.items], page.total) == (["c"], 3)
    capacity = page.capacities[Platform.ANDROID]
    assert (page.states, capacity.devices, capacity.free) == ({WorkerState.ACTIVE: 3}, 3, 3)


async def test_lost_workers_are_counted_over_all_pages_and_have_nothing(world: World) -> None:
    """By platform as well: what they had is neither free nor in use."""
    await have_workers(world, "a", "b")
    lost = PoolReport(name="iphones", platform=Platform.IOS, slots=5, busy=(1, 2))
    report = WorkerReport(id="c", name="c", slots=8, running=2, pools=(lost,))
    await MongoWorkers(world.mongo, seconds=0).report(report)
    page = await queue_of(world).workers(Page(1, 1))
    assert (len(page.items), page.states) == (1, {WorkerState.ACTIVE: 2, WorkerState.LOST: 1})
    android, ios = page.states_by_platform[Platform.ANDROID], page.states_by_platform[Platform.IOS]
    assert (android, ios) == ({WorkerState.ACTIVE: 2}, {WorkerState.LOST: 1})
    assert (page.capacities[Platform.IOS].devices, page.capacities[Platform.IOS].free) == (0, 0)
    [_, _, silent] = (await queue_of(world).workers(ALL)).items
    assert (silent.worker.running, [len(pool.busy) for pool in silent.pools]) == (0, [0])
