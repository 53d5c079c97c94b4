"""Many workers on one hub: no more sessions than it has, and no run that waits in a worker or loses an attempt."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from uuid import uuid4

from mobiletest_automation.devices.port import NO_BUILD, Seed
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import AttemptResult
from services.chassis.lifecycle import Background
from services.executor.model.runs import Run
from services.executor.pools.pool import Pool
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.ports.runs import Claim, Progress, RunKey
from services.executor.storage.runs import MongoRuns
from services.executor.storage.workers import MongoSlotLeases
from services.executor.worker.claim_loop import ClaimLoop
from services.executor.worker.worker import Worker
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import runs_of, start
from tests.eventually import eventually
from tests.fakes.executor import FakeAttempts, plan
from tests.fakes.hubs import FakeHubs

WORKERS, SESSIONS, RUNS = 8, 3, 24


class Sessions:
    """How many runs use the hub, or wait for it, at once."""

    def __init__(self) -> None:
        self.open = self.most_open = self.claimed = self.most_claimed = 0

    def count(self, *, opened: int = 0, claimed: int = 0) -> None:
        self.open += opened
        self.claimed += claimed
        self.most_open, self.most_claimed = max(self.most_open, self.open), max(self.most_claimed, self.claimed)


class HubAttempts(FakeAttempts):
    """Attempts that only open and close a session."""

    def __init__(self, pools: PooledDevices, sessions: Sessions) -> None:
        super().__init__()
        self._pools = pools
        self._sessions = sessions

    @property
    def platforms(self) -> Sequence[Platform]:
        return (Platform.ANDROID,)

    def places(self, platform: Platform) -> int:
        return self._pools.slots("android")

    async def reserve(self, platform: Platform, runs: int) -> int:
        return await self._pools.reserve("android", runs)

    def settle(self, platform: Platform, runs: int) -> None:
        self._pools.settle("android", runs)

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        self._sessions.count(claimed=1)
        device = await self._pools.acquire("android", NO_BUILD, Seed(claim.run.id, claim.attempt))
        self._sessions.count(opened=1)
        await asyncio.sleep(0.001)
        self._sessions.count(opened=-1, claimed=-1)
        await self._pools.release(device)
        return AttemptResult(device=device.info.name, simulated=False)


class FinishedRuns(MongoRuns):
    """Counts the runs that have ended."""

    count = 0

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        run = await super().finish(key, token, result)
        self.count += 1
        return run


async def test_workers_share_a_hub_without_waiting_in_each_others_way(world: World) -> None:
    sessions, finished = Sessions(), FinishedRuns(world.transactions)
    execution = await start(world, *(plan() for _ in range(RUNS)))
    pool = Pool(
        name="phones", platform="android", slots=SESSIONS, hub=HubTarget(url=f"http://{uuid4()}", capabilities={})
    )
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(Background())
        for number in range(WORKERS):
            leases = MongoSlotLeases(world.mongo, f"worker-{number}", seconds=600)
            pools = PooledDevices([pool], hubs=FakeHubs(), leases=leases)
            worker = Worker(finished, HubAttempts(pools, sessions), name=f"worker-{number}", slots=1)
            pools.on_change(worker.notify_free_slot)
            background.start("slots", pools.share_slots(renewal=0.05, every=0.01))
            background.start("claims", ClaimLoop(finished, worker, every=0.01).run())
        await eventually(lambda: finished.count == RUNS)
    runs = await runs_of(world, execution)
    assert all(run.success and len(run.attempts) == 1 for run in runs)
    assert len({run.attempts[0].worker for run in runs}) >= SESSIONS
    assert sessions.most_open <= SESSIONS
    assert sessions.most_claimed <= SESSIONS
