"""Only healthy hubs are used; a run moves on to another pool when its hub opens no session."""

import asyncio
from pathlib import Path

import pytest

from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest, DeviceFailure
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from services.executor.pools.hub_health import HealthPolicy
from services.executor.pools.pool import Pool
from services.executor.pools.pooled_devices import PooledDevices
from tests.eventually import eventually
from tests.fakes.hubs import FakeHubs
from tests.unit.automation.attempts import fails
from tests.unit.executor.pools.hub_pools import NEVER, SEED, hub_pool

AT_ONCE = HealthPolicy(interval=0.01, first_backoff=0.01, max_backoff=0.02)


@pytest.mark.parametrize("category", [Category.DEVICE_UNAVAILABLE, Category.NETWORK_ERROR, Category.SESSION_LOST])
async def test_a_run_moves_to_another_pool_when_a_hub_opens_no_session(category: Category) -> None:
    hubs = FakeHubs(broken={"http://a:4723": DeviceFailure(category, "refused")})
    pools = PooledDevices([hub_pool("a", slots=3), hub_pool("b")], hubs=hubs, health_policy=NEVER)
    device = await pools.acquire("ios", NO_BUILD, SEED)
    assert device.info.name == "b-1"
    assert (pools.slots("ios"), pools.free("ios")) == (1, 0)
    await pools.release(device)
    await pools.acquire("ios", NO_BUILD, SEED)
    assert [opened.url for opened in hubs.opened] == ["http://a:4723", "http://b:4723", "http://b:4723"]


async def test_the_last_failure_is_raised_when_every_hub_fails() -> None:
    hubs = FakeHubs(
        broken={f"http://{name}:4723": DeviceFailure(Category.NETWORK_ERROR, f"no {name}") for name in "ab"}
    )
    pools = PooledDevices([hub_pool("a", slots=2), hub_pool("b")], hubs=hubs, health_policy=NEVER)
    with fails(Category.NETWORK_ERROR, "no b"):
        await pools.acquire("ios", NO_BUILD, SEED)
    assert (pools.slots("ios"), pools.platforms) == (0, ["ios"])


OF_THE_APP = [Category.APP_INSTALL_FAILED, Category.CONFIG_INVALID, Category.ARTIFACT_INVALID]


@pytest.mark.parametrize("category", [*OF_THE_APP, Category.NETWORK_ERROR, Category.EXECUTOR_LOST])
async def test_only_failures_of_a_hub_make_it_unhealthy(category: Category) -> None:
    """Not those of the app, nor a download or a claim that failed."""
    failure, hubs = DeviceFailure(category, "not the hub"), FakeHubs()
    if category in OF_THE_APP:
        hubs.broken["http://a:4723"] = failure

    async def fail(session: Session | None = None) -> Path:
        raise failure

    pools = PooledDevices([hub_pool("a"), hub_pool("b")], hubs=hubs)
    with pytest.raises(DeviceFailure, match="not the hub"):
        await pools.acquire(
            "ios",
            AppUnderTest(file=fail) if category is Category.NETWORK_ERROR else NO_BUILD,
            SEED,
            on_session=fail if category is Category.EXECUTOR_LOST else None,
        )
    assert (len(hubs.opened), pools.free("ios")) == (int(category is not Category.NETWORK_ERROR), 2)


async def test_a_cancelled_opening_frees_its_slot() -> None:
    hubs = FakeHubs(hanging=True)
    pools = PooledDevices([hub_pool("a")], hubs=hubs)
    acquiring = asyncio.create_task(pools.acquire("ios", NO_BUILD, SEED))
    await eventually(lambda: hubs.opened)
    assert pools.free("ios") == 0
    acquiring.cancel()
    await eventually(acquiring.cancelled)
    assert pools.free("ios") == 1


async def test_waiters_continue_when_a_hub_recovers() -> None:
    hubs = FakeHubs(down={"http://a:4723"})
    pools, changes = PooledDevices([hub_pool("a")], hubs=hubs, health_policy=AT_ONCE), []
    pools.on_change(lambda: changes.append(pools.slots("ios")))
    await pools.check()
    assert (pools.slots("ios"), changes) == (0, [0])
    watching = asyncio.create_task(pools.watch())
    waiting = asyncio.create_task(pools.acquire("ios", NO_BUILD, SEED))
    await eventually(lambda: len(hubs.asked) > 2)
    assert not waiting.done()
    hubs.down.clear()
    assert (await waiting).info.name == "a-1"
    assert changes == [0, 1]
    watching.cancel()


async def test_runs_on_an_unhealthy_hub_keep_their_slots_but_no_others_join() -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool("a", slots=3), hub_pool("b")], hubs=hubs, health_policy=NEVER)
    device = await pools.acquire("ios", NO_BUILD, SEED)
    hubs.down.add("http://a:4723")
    await pools.check()
    assert (pools.slots("ios"), pools.free("ios")) == (2, 1)
    await pools.release(device)
    assert (pools.slots("ios"), pools.free("ios")) == (1, 1)


async def test_unhealthy_hubs_are_named_when_no_device_is_free() -> None:
    hubs = FakeHubs(down={"http://a:4723"})
    pools = PooledDevices([hub_pool("a")], hubs=hubs, health_policy=NEVER, wait_seconds=0)
    await pools.check()
    with fails(Category.DEVICE_UNAVAILABLE, r"within 0 s \(pools with unhealthy hubs: a\)"):
        await pools.acquire("ios", NO_BUILD, SEED)


async def test_pools_of_one_hub_share_its_health() -> None:
    url = "http://a:4723"
    same = HubTarget(url=url, capabilities={})
    pools = PooledDevices(
        [Pool(name=name, platform="ios", slots=1, hub=same) for name in "xy"],
        hubs=(hubs := FakeHubs(broken={url: DeviceFailure(Category.NETWORK_ERROR, "gone")})),
        health_policy=NEVER,
    )
    with pytest.raises(DeviceFailure, match="gone"):
        await pools.acquire("ios", NO_BUILD, SEED)
    assert (len(hubs.opened), pools.slots("ios")) == (1, 0)
