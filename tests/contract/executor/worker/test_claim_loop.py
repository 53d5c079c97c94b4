"""How a worker finds runs to claim."""

import asyncio
from dataclasses import replace
from uuid import uuid4

from mobiletest_automation.model.devices import Platform
from services.chassis.lifecycle import Background
from services.executor.ports.runs import AcceptsOrg, Claim, ReleasedRun, RunKey, Runs, accept_all
from services.executor.storage.runs import MongoRuns
from services.executor.worker.claim_loop import MAX_REQUESTS, ClaimLoop, RunRequestHandler
from services.executor.worker.worker import Worker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import requests, run_of, start, started
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan


def make(runs: Runs, *, slots: int = 2, attempts: FakeAttempts | None = None) -> Worker:
    return Worker(runs, attempts or FakeAttempts(blocking=True), name="worker-1", slots=slots)


async def handler_of(runs: Runs, worker: Worker) -> RunRequestHandler:
    """The handler of a worker whose claim loop has caught up with the queue, which must be empty."""
    loop = ClaimLoop(runs, worker)
    await loop.fill()
    return RunRequestHandler(runs, worker, loop, Platform.ANDROID)


async def test_a_requested_run_is_claimed_despite_an_undecodable_request(world: World) -> None:
    worker = make(world.runs)
    handler = await handler_of(world.runs, worker)
    [key] = await started(world)
    [request] = await requests(world)
    broken = replace(request, payload=b"\xff\xff")
    [refused] = await handler.handle([broken, request])
    assert refused.event is broken
    assert list(worker.active) == [key.run_id]


async def test_outdated_requests_and_other_events_are_ignored(world: World) -> None:
    worker = make(world.runs)
    handler = await handler_of(world.runs, worker)
    execution = await start(world)
    outdated = await requests(world)
    await world.executions.cancel(execution.id)
    await handler.handle([*outdated, *await world.executions.log(execution.id, 0, 100)])
    assert not worker.active


async def test_runs_of_organisations_that_the_devices_do_not_accept_are_left_to_other_workers(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    attempts.refused_orgs = {"other"}
    worker = make(world.runs, attempts=attempts, slots=8)
    handler = await handler_of(world.runs, worker)
    await start(world, org_id="other")
    await handler.handle(await requests(world))
    await ClaimLoop(world.runs, worker).fill()
    assert not worker.active
    await start(world, org_id="mine")
    await ClaimLoop(world.runs, worker).fill()
    assert [active.claim.run.org_id for active in worker.active.values()] == ["mine"]


async def test_requests_beyond_the_free_slots_are_left_to_the_claim_loop(world: World) -> None:
    worker = make(world.runs)
    handler = await handler_of(world.runs, worker)
    await started(world, plan(), plan(), plan())
    assert handler.capacity() == 2
    await handler.handle(await requests(world))
    assert (len(worker.active), handler.capacity()) == (0, 2)
    await ClaimLoop(world.runs, worker).fill()
    assert (len(worker.active), handler.capacity()) == (2, 0)


async def test_the_claim_loop_fills_slots_on_all_platforms_and_stops_when_they_are_full(world: World) -> None:
    await started(world, plan(), plan(platform=Platform.IOS), plan())
    worker = make(world.runs, slots=8)
    await ClaimLoop(world.runs, worker).fill()
    assert len(worker.active) == 3
    await started(world, *(plan() for _ in range(9)))
    await ClaimLoop(world.runs, worker).fill()
    assert len(worker.active) == 8


async def test_a_worker_that_was_full_ignores_requests_until_the_queue_is_empty(world: World) -> None:
    await started(world, plan(), plan(), plan())
    attempts = FakeAttempts(blocking=True)
    worker = make(world.runs, attempts=attempts, slots=1)
    loop = ClaimLoop(world.runs, worker)
    handler = RunRequestHandler(world.runs, worker, loop, Platform.ANDROID)
    flood = await requests(world)
    await loop.fill()
    single = await start(world, org_id=str(uuid4()))
    attempts.release.set()
    await eventually(lambda: not worker.active)
    attempts.release.clear()
    for request in flood:
        await handler.handle([request])
        assert not worker.active
    await loop.fill()
    assert [active.claim.execution.id for active in worker.active.values()] == [single.id]


class SlowRuns(MongoRuns):
    """Grants claims at once, but answers only when `answers` is set."""

    def __init__(self, world: World) -> None:
        super().__init__(world.transactions)
        self.granted = asyncio.Event()
        self.answers = asyncio.Event()

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        claim = await super().claim(key, worker)
        self.granted.set()
        await self.answers.wait()
        return claim


async def test_a_run_claimed_during_shutdown_is_handed_back(world: World) -> None:
    runs = SlowRuns(world)
    [key] = await started(world)
    worker = make(runs)
    async with Background() as background:
        loop = ClaimLoop(runs, worker)
        async with background.run("search", loop.run(), stop=loop.stop):
            await runs.granted.wait()
            worker.stop_claiming()
            asyncio.get_running_loop().call_soon(runs.answers.set)
    await worker.drain(0)
    run = await run_of(world, key)
    assert (run.lease, run.attempts[0].handed_back) == (None, True)


async def test_a_short_run_whose_claim_is_answered_after_the_stop_still_ends(world: World) -> None:
    runs = SlowRuns(world)
    [key] = await started(world)
    attempts = FakeAttempts(blocking=True)
    worker = make(runs, attempts=attempts, slots=1)
    claiming = asyncio.create_task(worker.claim([key], Platform.ANDROID))
    await runs.granted.wait()
    worker.stop_claiming()
    runs.answers.set()
    await claiming
    draining = asyncio.create_task(worker.drain(60))
    await eventually(lambda: attempts.begun or not worker.active)
    attempts.release.set()
    await draining
    assert (await run_of(world, key)).success is True


class CountingRuns(MongoRuns):
    """Counts claims and searches."""

    claims = peeks = searches = 0

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        self.claims += 1
        return await super().claim(key, worker)

    async def is_any_waiting(self) -> bool:
        self.peeks += 1
        return await super().is_any_waiting()

    async def claimable(self, platform: Platform, limit: int, accepts: AcceptsOrg = accept_all) -> list[RunKey]:
        self.searches += 1
        return await super().claimable(platform, limit, accepts)


async def test_of_two_notices_of_a_release_only_the_first_counts(world: World) -> None:
    runs = CountingRuns(world.transactions)
    worker = make(runs, attempts=FakeAttempts())
    handler = await handler_of(runs, worker)
    execution = await start(world)
    [request] = await requests(world)
    [key] = [RunKey(execution.id, run.id) for run in await world.executions.all_runs(execution.id)]
    await handler.claim_released([ReleasedRun(key, execution.org_id, Platform.ANDROID)])
    await eventually(lambda: not worker.active)
    await handler.handle([request])
    assert runs.claims == 1


async def test_a_worker_that_is_behind_takes_all_requests_at_once(world: World) -> None:
    worker = make(world.runs)
    loop = ClaimLoop(world.runs, worker)
    handler = RunRequestHandler(world.runs, worker, loop, Platform.ANDROID)
    assert (handler.is_behind, handler.capacity()) == (True, MAX_REQUESTS)
    await loop.fill()
    assert (handler.is_behind, handler.capacity()) == (False, 2)
    worker.stop_claiming()
    loop.fall_behind(Platform.ANDROID)
    assert handler.capacity() == 0


async def test_an_idle_worker_asks_for_all_platforms_at_once_until_a_run_waits(world: World) -> None:
    runs = CountingRuns(world.transactions)
    worker = make(runs)
    async with Background() as background:
        loop = ClaimLoop(runs, worker, every=0.001)
        async with background.run("search", loop.run(), stop=loop.stop):
            await eventually(lambda: runs.peeks > 3)
            assert runs.searches == 2 * len(Platform), "one by each of the two searches, before it knew"
            [key] = await started(world)
            await eventually(lambda: list(worker.active) == [key.run_id])
            worker.stop_claiming()
    await worker.drain(0)
