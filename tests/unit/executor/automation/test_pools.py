"""Pools say which devices there are, and give each to one run at a time."""

import asyncio
from pathlib import Path

import pytest

from services.executor.automation.devices import NO_BUILD, DeviceFailure, Seed
from services.executor.automation.pools import DEFAULT_SLOTS, Pool, Pools, PoolsError, read_pools
from services.executor.automation.simulated.model import Pace
from services.executor.model.failures import Category
from tests.eventually import eventually

SEED = Seed("run", 1)


def test_without_a_file_there_are_simulated_devices_of_both_platforms() -> None:
    pools = Pools.load(None)
    assert (pools.slots("android"), pools.slots("ios"), pools.slots("web")) == (DEFAULT_SLOTS, DEFAULT_SLOTS, 0)


def test_a_file_says_which_pools_there_are(tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(
        """
pools:
  - {platform: Android, kind: simulated, slots: 2, step_delay: 500ms, time_scale: 0.1}
  - {name: lab, platform: ios, kind: webdriver, slots: 3, url: "http://lab:4723", capabilities: {a: 1}, labels: [x]}
"""
    )
    pools = Pools.load(path)
    assert (pools.slots("android"), pools.slots("ios"), pools.free("ios")) == (2, 3, 3)
    first, _ = read_pools(path.read_text())
    assert first == Pool(name="simulated-android", platform="android", kind="simulated", slots=2, pace=Pace(0.5, 0.1))


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("pools: []", 1, 8, "there is no pool"),
        ("pols: []", 1, 1, "did you mean pools?"),
        ("pools:\n  - {platform: android}", 2, 5, "kind is missing"),
        ("pools:\n  - {platform: windows, kind: simulated}", 2, 16, "android, ios"),
        ("pools:\n  - {platform: ios, kind: simulatd}", 2, 27, "did you mean simulated?"),
        ("pools:\n  - {platform: ios, kind: simulated, slots: 0}", 2, 45, "from 1 to 1000"),
        ("pools:\n  - {platform: ios, kind: simulated, slot: 1}", 2, 38, "did you mean slots?"),
        ("pools:\n  - &a {platform: ios, kind: simulated}\n  - *a", 2, 5, "anchors"),
        ("pools:\n" + "  - {platform: ios, kind: simulated}\n" * 2, 2, 5, 'two pools are called "simulated-ios"'),
    ],
)
def test_a_wrong_file_is_refused_where_it_is_wrong(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PoolsError) as error:
        read_pools(text)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (line, column)


async def test_a_place_is_held_until_it_is_given_back() -> None:
    pools = Pools([Pool(name="a", platform="ios", kind="simulated", slots=2)])
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


async def test_runs_are_spread_over_the_pools_of_a_platform() -> None:
    pools = Pools([Pool(name=name, platform="ios", kind="simulated", slots=2) for name in "ab"])
    devices = [await pools.acquire("ios", NO_BUILD, SEED) for _ in range(4)]
    assert sorted(device.info.name for device in devices) == ["a-1", "a-2", "b-1", "b-2"]


async def test_who_stops_waiting_takes_no_place() -> None:
    pools = Pools([Pool(name="a", platform="ios", kind="simulated", slots=1)])
    device = await pools.acquire("ios", NO_BUILD, SEED)
    waiting = asyncio.create_task(pools.acquire("ios", NO_BUILD, SEED))
    await asyncio.sleep(0)
    waiting.cancel()
    await eventually(waiting.cancelled)
    await pools.release(device)
    assert pools.free("ios") == 1


async def test_many_waiters_all_get_their_turn() -> None:
    pools = Pools([Pool(name="a", platform="ios", kind="simulated", slots=3)])

    async def use() -> None:
        device = await pools.acquire("ios", NO_BUILD, SEED)
        await asyncio.sleep(0)
        assert pools.free("ios") >= 0
        await pools.release(device)

    await asyncio.gather(*(use() for _ in range(50)))
    assert pools.free("ios") == 3


async def test_a_platform_without_a_pool_is_a_fault_of_the_configuration() -> None:
    with pytest.raises(DeviceFailure, match="no device pool for ios is configured") as error:
        await Pools([]).acquire("ios", NO_BUILD, SEED)
    assert error.value.category is Category.CONFIG_INVALID


async def test_a_kind_that_is_not_available_says_so_and_keeps_no_place() -> None:
    pools = Pools([Pool(name="lab", platform="ios", kind="webdriver", slots=1)])
    for _ in range(2):
        with pytest.raises(DeviceFailure, match="lab is of the kind webdriver, which is not available") as error:
            await pools.acquire("ios", NO_BUILD, SEED)
        assert error.value.category is Category.CONFIG_INVALID
    assert pools.free("ios") == 1


async def test_no_free_device_in_time_is_the_infrastructures_fault() -> None:
    pools = Pools([Pool(name="a", platform="ios", kind="simulated", slots=1)], wait_seconds=0)
    await pools.acquire("ios", NO_BUILD, SEED)
    with pytest.raises(DeviceFailure, match="no device for ios became free within 0 s") as error:
        await pools.acquire("ios", NO_BUILD, SEED)
    assert error.value.category is Category.DEVICE_UNAVAILABLE
