"""Workers share the slots of hubs, and claim only runs that they have slots for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from pymongo.errors import AutoReconnect

from mobiletest_automation.devices.port import NO_BUILD
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import Platform
from services.executor.pools.pool import Pool
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.pools.slots import lease_name
from tests.eventually import eventually
from tests.fakes.hubs import FakeHubs
from tests.fakes.slot_leases import FakeSlotLeases, SlotStore
from tests.unit.executor.pools.hub_pools import SEED


def hub_pool(name: str = "phones", url: str = "http://hub:4723", slots: int = 2) -> Pool:
    return Pool(name=name, platform="android", slots=slots, hub=HubTarget(url=url, capabilities={}))


class Farm:
    """Workers with pools on the same hub."""

    def __init__(self) -> None:
        self.store = SlotStore()
        self.leases: dict[str, FakeSlotLeases] = {}

    def worker(self, name: str, *pools: Pool) -> PooledDevices:
        self.leases[name] = FakeSlotLeases(self.store, name)
        return PooledDevices(pools or [hub_pool()], hubs=FakeHubs(), leases=self.leases[name])

    @asynccontextmanager
    async def sharing(self, *workers: PooledDevices) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(each.share_slots(renewal=0.01, every=0.01)) for each in workers]
        await asyncio.sleep(0)
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.fixture
def farm() -> Farm:
    return Farm()


async def test_workers_never_use_more_slots_than_the_hub_has(farm: Farm) -> None:
    workers = [farm.worker(name, hub_pool(slots=5)) for name in "abcd"]
    reserved = [await worker.reserve("android", 2) for worker in workers]
    assert reserved == [2, 2, 1, 0]
    devices = [await worker.acquire("android", NO_BUILD, SEED) for worker in workers[:2]]
    assert {device.info.name for device in devices} <= {f"phones-{number}" for number in range(1, 6)}
    assert workers[3].slots("android") == 0


async def test_simulated_devices_are_the_workers_own(farm: Farm) -> None:
    pools = [farm.worker(name, Pool(name="simulated", platform="ios", slots=2)) for name in "ab"]
    assert [await worker.reserve("ios", 2) for worker in pools] == [2, 2]


async def test_slots_that_a_worker_frees_are_seen_by_others(farm: Farm) -> None:
    first, second = farm.worker("a"), farm.worker("b")
    woken = asyncio.Event()
    second.on_change(woken.set)
    device = await first.acquire("android", NO_BUILD, SEED)
    await first.acquire("android", NO_BUILD, SEED)
    assert await second.reserve("android", 1) == 0
    async with farm.sharing(first, second):
        await first.release(device)
        await woken.wait()
        assert second.slots("android") == 1
        assert await second.reserve("android", 1) == 1


async def test_a_run_waits_for_a_slot_of_another_worker(farm: Farm) -> None:
    first, second = farm.worker("a", hub_pool(slots=1)), farm.worker("b", hub_pool(slots=1))
    device = await first.acquire("android", NO_BUILD, SEED)
    async with farm.sharing(first, second):
        waiting = asyncio.create_task(second.acquire("android", NO_BUILD, SEED))
        await asyncio.sleep(0)
        assert not waiting.done()
        await first.release(device)
        assert (await waiting).info.name == "phones-1"


async def test_the_slots_of_a_lost_worker_are_used_by_others(farm: Farm) -> None:
    lost, other = farm.worker("lost"), farm.worker("other")
    assert await lost.reserve("android", 2) == 2
    async with farm.sharing(other):
        assert await other.reserve("android", 2) == 0
        farm.store.expire("lost")
        await eventually(lambda: other.slots("android") == 2)
        assert await other.reserve("android", 2) == 2


async def test_a_slot_is_kept_for_the_next_attempt_of_its_run(farm: Farm) -> None:
    first, second = farm.worker("a", hub_pool(slots=1)), farm.worker("b", hub_pool(slots=1))
    async with farm.sharing(first, second):
        assert await first.reserve("android", 1) == 1
        await first.release(await first.acquire("android", NO_BUILD, SEED))
        assert await second.reserve("android", 1) == 0
        device = await first.acquire("android", NO_BUILD, SEED)
        first.settle("android", 0)  # the run has ended, its device is still being closed
        assert first.slots("android") == 1
        await first.release(device)
        await eventually(lambda: second.free("android") == 1)


async def test_slots_that_were_taken_for_runs_of_others_are_returned(farm: Farm) -> None:
    first, second = farm.worker("a"), farm.worker("b")
    async with farm.sharing(first, second):
        assert await first.reserve("android", 2) == 2
        first.settle("android", 0)
        await eventually(lambda: farm.store.workers(lease_name(hub_pool())) == [])
    assert await second.reserve("android", 2) == 2


async def test_a_worker_that_stops_returns_its_slots(farm: Farm) -> None:
    worker = farm.worker("a")
    async with farm.sharing(worker):
        await worker.reserve("android", 2)
        worker.settle("android", 0)
    assert farm.store.workers(lease_name(hub_pool())) == []


async def test_an_outage_of_storage_is_waited_out(farm: Farm) -> None:
    worker = farm.worker("a")
    farm.leases["a"].failure = AutoReconnect("no primary")
    with pytest.raises(AutoReconnect):
        await worker.reserve("android", 1)
    async with farm.sharing(worker):
        waiting = asyncio.create_task(worker.acquire("android", NO_BUILD, SEED))
        await asyncio.sleep(0)
        farm.leases["a"].failure = None
        assert (await waiting).info.name == "phones-1"


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda: hub_pool(slots=9), True),
        (lambda: hub_pool(name="tablets"), False),
        (lambda: hub_pool(url="http://other:4723"), False),
    ],
)
def test_a_pool_is_shared_by_its_name_and_hub(change: Callable[[], Pool], same: bool) -> None:
    assert (lease_name(change()) == lease_name(hub_pool())) is same


def test_a_hub_on_loopback_is_shared_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    local, remote = hub_pool(url="http://127.0.0.1:4723"), hub_pool()
    before = lease_name(local), lease_name(remote)
    monkeypatch.setattr("socket.gethostname", lambda: "another-pod")
    assert lease_name(local) != before[0]
    assert lease_name(remote) == before[1]


async def test_a_worker_reports_the_slots_that_it_uses(farm: Farm) -> None:
    """Those that it has claimed runs for too; the devices have one name for all workers."""
    first, second = farm.worker("a"), farm.worker("b", hub_pool(), Pool(name="own", platform="ios", slots=3))
    await first.reserve("android", 1)
    await second.acquire("android", NO_BUILD, SEED)
    [theirs], [mine, own] = first.reports(), second.reports()
    assert (theirs.busy, mine.busy, theirs.shared == mine.shared is not None) == ((1,), (2,), True)
    assert (own.name, own.platform, own.slots, own.simulated, own.shared) == ("own", Platform.IOS, 3, True, None)
