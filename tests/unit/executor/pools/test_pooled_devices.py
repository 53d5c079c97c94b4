"""Each device is used by one run at a time, of those that its pool accepts."""

import asyncio
from dataclasses import replace

import pytest

from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest, DeviceFailure
from mobiletest_automation.model.devices import Session
from mobiletest_automation.model.failures import Category
from services.executor import telemetry
from services.executor.pools.pool import Pool
from services.executor.pools.pooled_devices import PooledDevices
from tests.eventually import eventually
from tests.fakes.hubs import FakeHubs
from tests.unit.automation.attempts import fails
from tests.unit.executor.pools.hub_pools import APP, NEVER, SEED, hub_pool


async def test_a_slot_is_in_use_until_its_device_is_released() -> None:
    pools = PooledDevices([Pool(name="a", platform="ios", slots=2)])
    first = await pools.acquire("ios", NO_BUILD, SEED)
    second = await pools.acquire("ios", NO_BUILD, SEED)
    assert {first.info.name, second.info.name} == {"a-1", "a-2"}
    assert first.info.simulated
    assert pools.free("ios") == 0
    waiting = asyncio.create_task(pools.acquire("ios", NO_BUILD, SEED))
    await asyncio.sleep(0)
    assert not waiting.done()
    await pools.release(first)
    third = await waiting
    assert third.info.name == first.info.name
    for device in (second, third, third):
        await pools.release(device)
    assert pools.free("ios") == 2


async def test_runs_that_come_together_are_spread_over_the_slots_of_all_pools() -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool(name, slots=2) for name in "ab"], hubs=hubs)
    await asyncio.gather(*(pools.acquire("ios", NO_BUILD, SEED) for _ in range(4)))
    assert sorted(opened.name for opened in hubs.opened) == ["a-1", "a-2", "b-1", "b-2"]


async def test_a_cancelled_waiter_takes_no_slot() -> None:
    pools = PooledDevices([Pool(name="a", platform="ios", slots=1)])
    device = await pools.acquire("ios", NO_BUILD, SEED)
    waiting = asyncio.create_task(pools.acquire("ios", NO_BUILD, SEED))
    await asyncio.sleep(0)
    waiting.cancel()
    await eventually(waiting.cancelled)
    await pools.release(device)
    assert pools.free("ios") == 1


async def test_every_waiter_gets_a_device() -> None:
    pools = PooledDevices([Pool(name="a", platform="ios", slots=3)])

    async def use() -> None:
        device = await pools.acquire("ios", NO_BUILD, SEED)
        await asyncio.sleep(0)
        assert pools.free("ios") >= 0
        await pools.release(device)

    await asyncio.gather(*(use() for _ in range(50)))
    assert pools.free("ios") == 3


async def test_a_platform_without_a_pool_is_a_configuration_error() -> None:
    with fails(Category.CONFIG_INVALID, "no device pool for ios is configured"):
        await PooledDevices([]).acquire("ios", NO_BUILD, SEED)


async def test_waiting_too_long_for_a_device_is_an_infrastructure_failure() -> None:
    pools = PooledDevices([Pool(name="a", platform="ios", slots=1)], busy_seconds=0)
    await pools.acquire("ios", NO_BUILD, SEED)
    with fails(Category.DEVICE_UNAVAILABLE, "no device for ios became free within 0 s"):
        await pools.acquire("ios", NO_BUILD, SEED)


async def test_a_hub_opens_a_device_and_reports_its_session() -> None:
    hubs, noted = FakeHubs(), []

    async def note(session: Session) -> None:
        noted.append(session)

    pools = PooledDevices([hub_pool("a", slots=2)], hubs=hubs)
    first = await pools.acquire("ios", APP, SEED, on_session=note)
    second = await pools.acquire("ios", APP, SEED)
    assert [(opened.name, opened.app) for opened in hubs.opened] == [
        ("a-1", "/cache/app.ipa"),
        ("a-2", "/cache/app.ipa"),
    ]
    assert noted == [Session("http://a:4723", "session-1")]
    assert not first.info.simulated
    await pools.release(first)
    await pools.release(second)
    assert pools.free("ios") == 2


async def test_a_run_waits_for_the_only_suitable_device_while_others_are_free() -> None:
    """Such a run was claimed because the other devices were free: waiting must not use up its attempts."""
    browser, phone = hub_pool("chrome", slots=2, browserName="chrome"), hub_pool("phone", slots=1)
    pools = PooledDevices([browser, phone], hubs=FakeHubs(), wait_seconds=0)
    device = await pools.acquire("ios", APP, SEED)
    assert pools.slots("ios") - 1 == pools.free("ios") == 2
    waiting = [asyncio.create_task(pools.acquire("ios", APP, SEED)) for _ in range(2)]
    for each in waiting:
        done, _ = await asyncio.wait({each}, timeout=0.05)
        assert not done
    await pools.release(device)
    await pools.release(await waiting[0])
    assert (await waiting[1]).info.name == "phone-1"


async def test_installed_apps_are_used_on_simulated_and_dedicated_devices_only() -> None:
    mine, skipping = hub_pool("mine"), AppUnderTest(org_id="a", skips_install=True)
    assert mine.hub is not None
    mine = replace(mine, organisation="a", hub=replace(mine.hub, dedicated=True))
    hubs = FakeHubs()
    await PooledDevices([mine], hubs=hubs).acquire("ios", skipping, SEED)
    assert (await PooledDevices([Pool(name="s", platform="ios")]).acquire("ios", skipping, SEED)).info.simulated
    shared = PooledDevices([hub_pool("shared")], hubs=hubs)
    with fails(Category.CONFIG_INVALID, "leave it out, or ask the operator to dedicate a device pool"):
        await shared.acquire("ios", skipping, SEED)
    assert [opened.name for opened in hubs.opened] == ["mine-1"]


async def test_a_pool_is_used_by_the_organisations_that_it_accepts() -> None:
    mine, others = (
        Pool(name="a", platform="ios", organisation="a"),
        Pool(name="b", platform="android", not_for=frozenset("a")),
    )
    pools = PooledDevices([mine, others])
    accepted = [
        (platform, org_id) for platform in ("ios", "android") for org_id in "ab" if pools.accepts(platform, org_id)
    ]
    assert accepted == [("ios", "a"), ("android", "b")]
    assert not pools.accepts("windows", "a")
    with pytest.raises(DeviceFailure, match="no device pool for ios"):
        await pools.acquire("ios", AppUnderTest(org_id="b"), SEED)


async def test_slots_are_reported_as_metrics() -> None:
    name = "measured"
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool(name, slots=3)], hubs=hubs, health_policy=NEVER)
    device = await pools.acquire("ios", NO_BUILD, SEED)

    def shown() -> list[float]:
        return [telemetry.device_slots.labels(name, state)._value.get() for state in ("busy", "free", "resting")]

    assert shown() == [1, 2, 0]
    hubs.down.add(f"http://{name}:4723")
    await pools.check()
    assert shown() == [1, 0, 2]
    await pools.release(device)
    assert shown() == [0, 0, 3]
