"""The ports of the queue: waiting runs of an organisation, and reports of workers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest

from services.chassis.mongo import Mongo
from services.executor.model.runs import Platform
from services.executor.model.workers import PoolReport, WorkerReport, WorkerState
from services.executor.ports.executions import PageRequest
from services.executor.storage.schema import WORKERS
from services.executor.storage.waiting_runs import MongoWaitingRuns
from services.executor.storage.workers import MongoWorkers
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import start
from tests.contract.executor.test_fair_queue import next_claim
from tests.fakes.executor import plan

ALL = PageRequest(1, 50)


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
    found = await waiting.page(ALL)
    assert [run.target.test_name for run in found] == ["Log in", "high", "low", "low"]
    assert [run.target.platform for run in found[2:]] == [Platform.ANDROID, Platform.IOS]
    assert [run.id for run in await waiting.page(PageRequest(2, 3))] == [found[3].id]
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
