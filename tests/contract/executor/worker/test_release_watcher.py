"""Runs are claimed as they are released, if their requests would come to this worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.context import current
from services.chassis.lifecycle import Background
from services.executor.model.runs import Platform
from services.executor.ports.runs import ReleasedRun
from services.executor.worker.claim_loop import ClaimLoop, RunRequestHandler
from services.executor.worker.release_watcher import ReleaseWatcher
from services.executor.worker.worker import Worker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import started
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan


class FakeReleasedRuns:
    """A stream of what is put into it."""

    def __init__(self) -> None:
        self.runs: asyncio.Queue[ReleasedRun] = asyncio.Queue()

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[AsyncIterator[ReleasedRun]]:
        yield self._read()

    async def _read(self) -> AsyncIterator[ReleasedRun]:
        while True:
            await asyncio.sleep(0)
            yield await self.runs.get()


class WatchedClaimLoop(ClaimLoop):
    """Counts how often it was woken."""

    wakes = 0

    def wake(self) -> None:
        self.wakes += 1
        super().wake()


async def test_released_runs_are_claimed_except_those_of_other_workers(world: World) -> None:
    released = FakeReleasedRuns()
    worker = Worker(world.runs, FakeAttempts(blocking=True), name="worker-1", slots=4)
    search = ClaimLoop(world.runs, worker)
    await search.fill()
    mine, other = await started(world, plan(), plan())
    handlers = {Platform.ANDROID: RunRequestHandler(world.runs, worker, search, Platform.ANDROID)}
    watcher = ReleaseWatcher(released, handlers, lambda run: run.key == mine)
    for key in (other, mine):
        released.runs.put_nowait(ReleasedRun(key, current().org_id, Platform.ANDROID))
    async with Background() as background, background.run("releases", watcher.run()):
        await eventually(lambda: worker.active)
    assert list(worker.active) == [mine.run_id]


async def test_more_released_runs_than_slots_are_left_to_the_search_in_the_fair_order(world: World) -> None:
    released = FakeReleasedRuns()
    worker = Worker(world.runs, FakeAttempts(blocking=True), name="worker-1", slots=1)
    search = WatchedClaimLoop(world.runs, worker)
    await search.fill()
    keys = await started(world, plan(), plan())
    handlers = {Platform.ANDROID: RunRequestHandler(world.runs, worker, search, Platform.ANDROID)}
    for key in keys:
        released.runs.put_nowait(ReleasedRun(key, current().org_id, Platform.ANDROID))
    watcher = ReleaseWatcher(released, handlers, lambda _: True)
    async with Background() as background, background.run("releases", watcher.run()):
        await eventually(lambda: search.wakes or worker.active)
    assert not worker.active


async def test_a_worker_that_is_behind_watches_nothing(world: World) -> None:
    released = FakeReleasedRuns()
    worker = Worker(world.runs, FakeAttempts(blocking=True), name="worker-1", slots=4)
    [key] = await started(world)
    handlers = {
        Platform.ANDROID: RunRequestHandler(world.runs, worker, ClaimLoop(world.runs, worker), Platform.ANDROID)
    }
    released.runs.put_nowait(ReleasedRun(key, "org", Platform.ANDROID))
    watching = asyncio.create_task(ReleaseWatcher(released, handlers, lambda _: True).run())
    await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait({watching})
    assert (released.runs.qsize(), dict(worker.active)) == (1, {})
