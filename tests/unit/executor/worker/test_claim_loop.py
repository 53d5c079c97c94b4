"""How a worker finds runs to claim."""

import asyncio
from dataclasses import replace

from services.chassis.context import Caller, bind
from services.chassis.lifecycle import Background
from services.executor.model.runs import Platform
from services.executor.ports.runs import AcceptsOrg, Claim, ReleasedRun, RunKey, accept_all
from services.executor.worker.claim_loop import MAX_REQUESTS, ClaimLoop, RunRequestHandler
from services.executor.worker.worker import Worker
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan
from tests.fakes.executor_executions import FakeExecutions
from tests.unit.executor.worker.builders import run_of, started


def make(store: FakeExecutions, *, slots: int = 2) -> Worker:
    return Worker(store, FakeAttempts(blocking=True), name="worker-1", slots=slots)


async def requests_of(store: FakeExecutions, worker: Worker) -> RunRequestHandler:
    """The handler of a worker whose claim loop has caught up with the queue."""
    search = ClaimLoop(FakeExecutions(), worker)
    await search.fill()
    return RunRequestHandler(store, worker, search, Platform.ANDROID)


async def test_a_requested_run_is_claimed() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    worker = make(store)
    await (await requests_of(store, worker)).handle([e for e in store.events if not e.subject])
    assert list(worker.active) == [key.run_id]


async def test_outdated_and_foreign_requests_are_ignored() -> None:
    store, other = FakeExecutions(), FakeExecutions()
    await started(store)
    await started(other)
    worker = make(other)
    await (await requests_of(other, worker)).handle(store.events)
    assert not worker.active


async def test_runs_of_organisations_that_the_devices_do_not_accept_are_left_to_other_workers() -> None:
    store, attempts = FakeExecutions(), FakeAttempts(blocking=True)
    attempts.refused_orgs = {"other"}
    worker = Worker(store, attempts, name="worker-1", slots=8)
    with bind(Caller(org_id="other")):
        await started(store, plan())
    requests = await requests_of(store, worker)
    await requests.handle([e for e in store.events if not e.subject])
    await ClaimLoop(store, worker).fill()
    assert not worker.active
    with bind(Caller(org_id="mine")):
        await started(store, plan())
    await ClaimLoop(store, worker).fill()
    assert [active.claim.run.org_id for active in worker.active.values()] == ["mine"]


async def test_requests_beyond_the_free_slots_are_left_to_the_claim_loop() -> None:
    store = FakeExecutions()
    await started(store, plan(), plan(), plan())
    worker = make(store)
    requests = await requests_of(store, worker)
    assert requests.capacity() == 2
    await requests.handle([e for e in store.events if not e.subject])
    assert (len(worker.active), requests.capacity()) == (0, 2)
    await ClaimLoop(store, worker).fill()
    assert (len(worker.active), requests.capacity()) == (2, 0)


async def test_an_undecodable_request_is_reported_and_the_others_are_claimed() -> None:
    store = FakeExecutions()
    [key] = await started(store)
    worker = make(store)
    [request] = [e for e in store.events if not e.subject]
    broken = replace(request, payload=b"\xff\xff")
    [refused] = await (await requests_of(store, worker)).handle([broken, request])
    assert refused.event is broken
    assert list(worker.active) == [key.run_id]


async def test_the_claim_loop_fills_slots_without_requests() -> None:
    store = FakeExecutions()
    await started(store, plan(), plan(platform=Platform.IOS), plan())
    worker = make(store, slots=8)
    await ClaimLoop(store, worker).fill()
    assert len(worker.active) == 3


async def test_the_claim_loop_stops_when_the_slots_are_full() -> None:
    store = FakeExecutions()
    await started(store, *(plan() for _ in range(20)))
    worker = make(store, slots=4)
    await ClaimLoop(store, worker).fill()
    assert len(worker.active) == 4


async def test_a_worker_that_was_full_ignores_requests_until_the_queue_is_empty() -> None:
    store = FakeExecutions()
    await started(store, plan(), plan(), plan())
    attempts = FakeAttempts(blocking=True)
    worker = Worker(store, attempts, name="worker-1", slots=1)
    search = ClaimLoop(store, worker)
    requests = RunRequestHandler(store, worker, search, Platform.ANDROID)
    flood = [e for e in store.events if not e.subject]
    await search.fill()
    with bind(Caller(org_id="22222222-2222-4222-8222-222222222222", via_gateway=True)):
        [single] = await started(store)
    attempts.release.set()
    await eventually(lambda: not worker.active)
    attempts.release.clear()
    for request in flood:
        await requests.handle([request])
        assert not worker.active
    await search.fill()
    assert list(worker.active) == [single.run_id]


class Slow(FakeExecutions):
    """Grants claims at once, but answers only when `answers` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.granted = asyncio.Event()
        self.answers = asyncio.Event()

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        claim = await super().claim(key, worker)
        self.granted.set()
        await self.answers.wait()
        return claim


async def test_a_run_claimed_during_shutdown_is_handed_back() -> None:
    store = Slow()
    [key] = await started(store)
    worker = make(store)
    async with Background() as background:
        search = ClaimLoop(store, worker)
        async with background.run("search", search.run(), stop=search.stop):
            await store.granted.wait()
            worker.stop_claiming()
            asyncio.get_running_loop().call_soon(store.answers.set)
    await worker.drain(0)
    assert (store.stored[key.run_id].lease, store.stored[key.run_id].attempts[0].handed_back) == (None, True)


async def test_a_short_run_whose_claim_is_answered_after_the_stop_still_ends() -> None:
    store = Slow()
    [key] = await started(store)
    attempts = FakeAttempts(blocking=True)
    worker = Worker(store, attempts, name="worker-1", slots=1)
    claiming = asyncio.create_task(worker.claim([key], Platform.ANDROID))
    await store.granted.wait()
    worker.stop_claiming()
    store.answers.set()
    await claiming
    draining = asyncio.create_task(worker.drain(10))
    await eventually(lambda: attempts.begun or not worker.active)
    attempts.release.set()
    await draining
    assert run_of(store, key).success is True


class Counting(FakeExecutions):
    """Counts the claims."""

    claims = 0

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        self.claims += 1
        return await super().claim(key, worker)


async def test_of_two_notices_of_a_release_only_the_first_counts() -> None:
    store = Counting()
    [key] = await started(store)
    worker = Worker(store, FakeAttempts(), name="worker-1", slots=2)
    requests = await requests_of(store, worker)
    await requests.claim_released([ReleasedRun(key, store.stored[key.run_id].org_id, Platform.ANDROID)])
    await eventually(lambda: not worker.active)
    await requests.handle([e for e in store.events if not e.subject])
    assert store.claims == 1


async def test_a_worker_that_is_behind_takes_all_requests_at_once() -> None:
    store = FakeExecutions()
    worker = make(store)
    search = ClaimLoop(store, worker)
    requests = RunRequestHandler(store, worker, search, Platform.ANDROID)
    assert (requests.is_behind, requests.capacity()) == (True, MAX_REQUESTS)
    await search.fill()
    assert (requests.is_behind, requests.capacity()) == (False, 2)
    worker.stop_claiming()
    search.fall_behind(Platform.ANDROID)
    assert requests.capacity() == 0


class CountingRuns(FakeExecutions):
    """Counts the searches."""

    def __init__(self) -> None:
        super().__init__()
        self.peeks = self.searches = 0

    async def is_any_waiting(self) -> bool:
        self.peeks += 1
        return await super().is_any_waiting()

    async def claimable(self, platform: Platform, limit: int, accepts: AcceptsOrg = accept_all) -> list[RunKey]:
        self.searches += 1
        return await super().claimable(platform, limit, accepts)


async def test_an_idle_worker_asks_for_all_platforms_at_once_until_a_run_waits() -> None:
    store = CountingRuns()
    worker = make(store)
    async with Background() as background:
        search = ClaimLoop(store, worker, every=0.001)
        async with background.run("search", search.run(), stop=search.stop):
            await eventually(lambda: store.peeks > 3)
            assert store.searches == 2 * len(Platform), "one by each of the two searches, before it knew"
            [key] = await started(store)
            await eventually(lambda: list(worker.active) == [key.run_id])
            worker.stop_claiming()
    await worker.drain(0)
