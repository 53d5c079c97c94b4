"""How a worker finds runs to claim."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

from mobiletest_automation.model.devices import Platform
from services.chassis.context import current
from services.chassis.lifecycle import Background
from services.executor.ports.runs import AcceptsOrg, Claim, ReleasedRun, RunKey, Runs, accept_all
from services.executor.storage.runs import MongoRuns
from services.executor.worker.claim_loop import MAX_REQUESTS, ClaimLoop, ReleaseWatcher, RunRequestHandler
from services.executor.worker.worker import Worker
from services.executor.worker_app import is_own
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import requests, run_of, runs_of, start, started
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan

NEVER = 3600.0


def make(runs: Runs, *, slots: int = 2, attempts: FakeAttempts | None = None) -> Worker:
    return Worker(runs, attempts or FakeAttempts(blocking=True), name="worker-1", slots=slots)


class WatchedClaimLoop(ClaimLoop):
    """Counts how often it was woken."""

    wakes = 0

    def wake(self) -> None:
        self.wakes += 1
        super().wake()


class FakeReleasedRuns:
    """A stream of what is put into it."""

    def __init__(self) -> None:
        self.runs: asyncio.Queue[ReleasedRun] = asyncio.Queue()

    def release(self, *keys: RunKey) -> None:
        for key in keys:
            self.runs.put_nowait(ReleasedRun(key, current().org_id, Platform.ANDROID))

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[ReleasedRun]]:
        yield self._read()

    async def _read(self) -> AsyncIterator[ReleasedRun]:
        while True:
            await asyncio.sleep(0)
            yield await self.runs.get()


async def test_a_request_wakes_the_search_despite_an_undecodable_one(world: World) -> None:
    worker = make(world.runs)
    loop = ClaimLoop(world.runs, worker, every=NEVER)
    async with Background() as background, background.run("search", loop.run(), stop=loop.stop):
        await eventually(lambda: loop.has_caught_up)
        [key] = await started(world)
        [request] = await requests(world)
        broken = replace(request, payload=b"\xff\xff")
        [refused] = await RunRequestHandler(worker, loop, Platform.ANDROID).handle([broken, request])
        await eventually(lambda: list(worker.active) == [key.run_id])
        worker.stop_claiming()
    assert refused.event is broken
    await worker.drain(0)


async def test_only_requests_wake_the_search(world: World) -> None:
    worker = make(world.runs)
    loop = WatchedClaimLoop(world.runs, worker)
    execution = await start(world)
    await RunRequestHandler(worker, loop, Platform.ANDROID).handle(await world.executions.log(execution.id, 0, 100))
    assert loop.wakes == 0


async def test_requests_are_fetched_only_while_slots_are_free(world: World) -> None:
    await started(world)
    worker = make(world.runs, slots=1)
    loop = ClaimLoop(world.runs, worker)
    handler = RunRequestHandler(worker, loop, Platform.ANDROID)
    assert handler.capacity() == MAX_REQUESTS
    await loop.fill()
    assert handler.capacity() == 0


async def test_runs_of_organisations_that_the_devices_do_not_accept_are_left_to_other_workers(world: World) -> None:
    attempts = FakeAttempts(blocking=True)
    attempts.refused_orgs = {"other"}
    worker = make(world.runs, attempts=attempts, slots=8)
    loop = ClaimLoop(world.runs, worker)
    await loop.fill()
    execution = await start(world, org_id="other")
    [run] = await runs_of(world, execution)
    await loop.claim_released([ReleasedRun(RunKey(execution.id, run.id), "other", Platform.ANDROID)], Platform.ANDROID)
    await loop.fill()
    assert not worker.active
    await start(world, org_id="mine")
    await ClaimLoop(world.runs, worker).fill()
    assert [active.claim.run.org_id for active in worker.active.values()] == ["mine"]


async def test_the_claim_loop_fills_slots_on_all_platforms_and_stops_when_they_are_full(world: World) -> None:
    await started(world, plan(), plan(platform=Platform.IOS), plan())
    worker = make(world.runs, slots=8)
    await ClaimLoop(world.runs, worker).fill()
    assert len(worker.active) == 3
    await started(world, *(plan() for _ in range(9)))
    await ClaimLoop(world.runs, worker).fill()
    assert len(worker.active) == 8


async def test_requests_of_one_organisation_do_not_come_before_a_run_of_another(world: World) -> None:
    await started(world, plan(), plan(), plan())
    attempts = FakeAttempts(blocking=True)
    worker = make(world.runs, attempts=attempts, slots=1)
    loop = ClaimLoop(world.runs, worker)
    await loop.fill()
    flood = await requests(world)
    single = await start(world, org_id=str(uuid4()))
    attempts.release.set()
    await eventually(lambda: not worker.active)
    attempts.release.clear()
    await RunRequestHandler(worker, loop, Platform.ANDROID).handle(flood)
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


async def test_a_released_run_is_claimed_once_although_its_request_follows(world: World) -> None:
    runs, released = CountingRuns(world.transactions), FakeReleasedRuns()
    worker = make(runs)
    loop = WatchedClaimLoop(runs, worker, every=NEVER)
    watcher = ReleaseWatcher(released, loop, lambda _: True)
    async with (
        Background() as background,
        background.run("search", loop.run(), stop=loop.stop),
        background.run("releases", watcher.run()),
    ):
        await eventually(lambda: loop.has_caught_up)
        [key] = await started(world)
        released.release(key)
        await eventually(lambda: worker.active)
        peeks = runs.peeks
        await RunRequestHandler(worker, loop, Platform.ANDROID).handle(await requests(world))
        await eventually(lambda: runs.peeks > peeks)
        worker.stop_claiming()
    assert runs.claims == 1
    await worker.drain(0)


async def test_released_runs_are_claimed_except_those_of_other_workers(world: World) -> None:
    released, worker = FakeReleasedRuns(), make(world.runs, slots=4)
    loop = ClaimLoop(world.runs, worker)
    await loop.fill()
    mine, other = await started(world, plan(), plan())
    released.release(other, mine)
    watcher = ReleaseWatcher(released, loop, lambda run: run.key == mine)
    async with Background() as background, background.run("releases", watcher.run()):
        await eventually(lambda: worker.active)
    assert list(worker.active) == [mine.run_id]


def test_released_runs_of_platforms_without_devices_are_of_other_workers() -> None:
    assert not is_own({}, ReleasedRun(RunKey("execution", "run"), "org", Platform.IOS))


async def test_more_released_runs_than_slots_are_left_to_the_search_in_the_fair_order(world: World) -> None:
    released, worker = FakeReleasedRuns(), make(world.runs, slots=1)
    loop = WatchedClaimLoop(world.runs, worker)
    await loop.fill()
    released.release(*await started(world, plan(), plan()))
    watcher = ReleaseWatcher(released, loop, lambda _: True)
    async with Background() as background, background.run("releases", watcher.run()):
        await eventually(lambda: loop.wakes or worker.active)
    assert not worker.active


async def test_a_released_run_that_the_search_claims_is_not_claimed_again(world: World) -> None:
    runs = SlowRuns(world)
    [key] = await started(world)
    worker = make(runs)
    loop = ClaimLoop(runs, worker)
    searching = asyncio.create_task(loop.fill())
    await runs.granted.wait()
    await loop.claim_released([ReleasedRun(key, current().org_id, Platform.ANDROID)], Platform.ANDROID)
    runs.answers.set()
    await searching
    assert list(worker.active) == [key.run_id]


async def test_a_worker_that_is_behind_watches_nothing(world: World) -> None:
    released, loop = FakeReleasedRuns(), WatchedClaimLoop(world.runs, make(world.runs))
    released.release(RunKey("e", "mine"))
    watching = asyncio.create_task(ReleaseWatcher(released, loop, lambda _: True).run())
    await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait({watching})
    assert (released.runs.qsize(), loop.wakes) == (1, 0)


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
