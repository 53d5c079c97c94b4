"""Runs are claimed as they are released, if their requests would come to this worker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mobiletest_automation.model.devices import Platform
from services.chassis.context import current
from services.chassis.lifecycle import Background
from services.executor.ports.runs import ReleasedRun, RunKey
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


class Scene:
    """A worker with so many slots, and a watcher of its released runs."""

    def __init__(self, world: World, slots: int, is_own: Callable[[ReleasedRun], bool] = lambda _: True) -> None:
        self.released = FakeReleasedRuns()
        self.worker = Worker(world.runs, FakeAttempts(blocking=True), name="worker-1", slots=slots)
        self.search = WatchedClaimLoop(world.runs, self.worker)
        handler = RunRequestHandler(world.runs, self.worker, self.search, Platform.ANDROID)
        self.watcher = ReleaseWatcher(self.released, {Platform.ANDROID: handler}, is_own)

    def release(self, *keys: RunKey) -> None:
        for key in keys:
            self.released.runs.put_nowait(ReleasedRun(key, current().org_id, Platform.ANDROID))


async def test_released_runs_are_claimed_except_those_of_other_workers(world: World) -> None:
    scene = Scene(world, slots=4, is_own=lambda run: run.key == mine)
    await scene.search.fill()
    mine, other = await started(world, plan(), plan())
    scene.release(other, mine)
    async with Background() as background, background.run("releases", scene.watcher.run()):
        await eventually(lambda: scene.worker.active)
    assert list(scene.worker.active) == [mine.run_id]


async def test_more_released_runs_than_slots_are_left_to_the_search_in_the_fair_order(world: World) -> None:
    scene = Scene(world, slots=1)
    await scene.search.fill()
    scene.release(*await started(world, plan(), plan()))
    async with Background() as background, background.run("releases", scene.watcher.run()):
        await eventually(lambda: scene.search.wakes or scene.worker.active)
    assert not scene.worker.active


async def test_a_worker_that_is_behind_watches_nothing(world: World) -> None:
    scene = Scene(world, slots=4)
    scene.release(*await started(world))
    watching = asyncio.create_task(scene.watcher.run())
    await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait({watching})
    assert (scene.released.runs.qsize(), dict(scene.worker.active)) == (1, {})
