"""Each device is used by one run at a time, and only healthy hubs are used."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from services.chassis.web_addresses import AddressPolicy
from services.executor import telemetry
from services.executor.automation.devices.pools.hub_health import HealthPolicy
from services.executor.automation.devices.pools.pool import Pool
from services.executor.automation.devices.pools.pooled_devices import PooledDevices
from services.executor.automation.devices.port import NO_BUILD, Build, DeviceFailure, Seed
from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.devices.webdriver.hub_target import AppDelivery, HubTarget
from services.executor.model.failures import Category
from services.executor.model.runs import Session
from tests.eventually import eventually
from tests.fakes.hubs import FakeHubs

SEED = Seed("run", 1)


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


async def test_runs_are_spread_over_the_pools_of_a_platform() -> None:
    pools = PooledDevices([Pool(name=name, platform="ios", slots=2) for name in "ab"])
    devices = [await pools.acquire("ios", NO_BUILD, SEED) for _ in range(4)]
    assert sorted(device.info.name for device in devices) == ["a-1", "a-2", "b-1", "b-2"]


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
    with pytest.raises(DeviceFailure, match="no device pool for ios is configured") as error:
        await PooledDevices([]).acquire("ios", NO_BUILD, SEED)
    assert error.value.category is Category.CONFIG_INVALID


async def test_waiting_too_long_for_a_device_is_an_infrastructure_failure() -> None:
    pools = PooledDevices([Pool(name="a", platform="ios", slots=1)], busy_seconds=0)
    await pools.acquire("ios", NO_BUILD, SEED)
    with pytest.raises(DeviceFailure, match="no device for ios became free within 0 s") as error:
        await pools.acquire("ios", NO_BUILD, SEED)
    assert error.value.category is Category.DEVICE_UNAVAILABLE


AT_ONCE = HealthPolicy(interval=0.01, first_backoff=0.01, max_backoff=0.02)
NEVER = HealthPolicy(first_backoff=1000, max_backoff=1000)


def hub_pool(name: str, *, slots: int = 1, delivery: AppDelivery = AppDelivery.PATH, **capabilities: Json) -> Pool:
    """A pool for ios at a hub of the same name."""
    hub = HubTarget(url=f"http://{name}:4723", capabilities=capabilities, app_delivery=delivery)
    return Pool(name=name, platform="ios", slots=slots, hub=hub)


async def file() -> Path:
    return Path("/cache/app.ipa")


async def unreadable() -> Path:
    raise DeviceFailure(Category.NETWORK_ERROR, "no catalog")


APP = Build(file=file)


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


async def test_slots_opened_at_the_same_time_have_different_numbers() -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool("a", slots=3)], hubs=hubs)
    await asyncio.gather(*(pools.acquire("ios", NO_BUILD, SEED) for _ in range(3)))
    assert sorted(opened.name for opened in hubs.opened) == ["a-1", "a-2", "a-3"]


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
    with pytest.raises(DeviceFailure, match="no b") as raised:
        await pools.acquire("ios", NO_BUILD, SEED)
    assert raised.value.category is Category.NETWORK_ERROR
    assert (pools.slots("ios"), pools.platforms) == (0, ["ios"])


@pytest.mark.parametrize("category", [Category.APP_INSTALL_FAILED, Category.CONFIG_INVALID, Category.ARTIFACT_INVALID])
async def test_failures_of_the_app_do_not_make_the_hub_unhealthy(category: Category) -> None:
    hubs = FakeHubs(broken={"http://a:4723": DeviceFailure(category, "broken app")})
    pools = PooledDevices([hub_pool("a"), hub_pool("b")], hubs=hubs)
    with pytest.raises(DeviceFailure, match="broken app"):
        await pools.acquire("ios", NO_BUILD, SEED)
    assert (len(hubs.opened), pools.free("ios")) == (1, 2)


async def test_a_failed_download_does_not_make_the_hub_unhealthy() -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool("a")], hubs=hubs)
    with pytest.raises(DeviceFailure, match="no catalog"):
        await pools.acquire("ios", Build(file=unreadable), SEED)
    assert (hubs.opened, pools.free("ios")) == ([], 1)


async def test_a_failing_session_callback_does_not_make_the_hub_unhealthy() -> None:
    async def refuse(session: Session) -> None:
        raise DeviceFailure(Category.EXECUTOR_LOST, "the run belongs to another worker")

    pools = PooledDevices([hub_pool("a")], hubs=FakeHubs())
    with pytest.raises(DeviceFailure, match="another worker"):
        await pools.acquire("ios", NO_BUILD, SEED, on_session=refuse)
    assert pools.free("ios") == 1


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
    with pytest.raises(DeviceFailure, match=r"within 0 s \(pools with unhealthy hubs: a\)") as raised:
        await pools.acquire("ios", NO_BUILD, SEED)
    assert raised.value.category is Category.DEVICE_UNAVAILABLE


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


async def test_browsers_only_run_web_builds_and_get_no_file() -> None:
    hubs = FakeHubs()
    browser, phone = hub_pool("chrome", slots=2, browserName="chrome"), hub_pool("phone", slots=1)
    pools = PooledDevices([browser, phone], hubs=hubs, busy_seconds=0)
    web = Build(static_url="https://shop.example", file=file)
    await pools.acquire("ios", web, SEED)
    await pools.acquire("ios", APP, SEED)
    assert [(opened.name, opened.app) for opened in hubs.opened] == [("chrome-1", None), ("phone-1", "/cache/app.ipa")]
    with pytest.raises(DeviceFailure, match="became free"):
        await pools.acquire("ios", APP, SEED)
    with pytest.raises(DeviceFailure, match="every device pool for ios has browsers") as raised:
        await PooledDevices([browser], hubs=hubs).acquire("ios", APP, SEED)
    assert raised.value.category is Category.CONFIG_INVALID


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
    mine, skipping = hub_pool("mine"), Build(org_id="a", skips_install=True)
    assert mine.hub is not None
    mine = replace(mine, organisation="a", hub=replace(mine.hub, dedicated=True))
    hubs = FakeHubs()
    await PooledDevices([mine], hubs=hubs).acquire("ios", skipping, SEED)
    assert (await PooledDevices([Pool(name="s", platform="ios")]).acquire("ios", skipping, SEED)).info.simulated
    shared = PooledDevices([hub_pool("shared")], hubs=hubs)
    with pytest.raises(DeviceFailure, match="leave it out, or ask the operator to dedicate a device pool") as raised:
        await shared.acquire("ios", skipping, SEED)
    assert raised.value.category is Category.CONFIG_INVALID
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
        await pools.acquire("ios", Build(org_id="b"), SEED)


class FakeFiles:
    """Serves files at numbered URLs; `open` are the valid ones."""

    def __init__(self) -> None:
        self.open: list[str] = []

    def offered(self, path: Path) -> AbstractContextManager[str]:
        return self._offered(path)

    @contextmanager
    def _offered(self, path: Path) -> Iterator[str]:
        address = f"http://worker/{len(self.open)}{path}"
        self.open.append(address)
        try:
            yield address
        finally:
            self.open.remove(address)


async def test_a_remote_hub_gets_a_url_that_is_valid_while_the_device_is_in_use() -> None:
    hubs, files = FakeHubs(), FakeFiles()
    pools = PooledDevices([hub_pool("a", delivery=AppDelivery.URL)], hubs=hubs, files=files)
    device = await pools.acquire("ios", APP, SEED)
    assert files.open == [hubs.opened[0].app]
    await pools.release(device)
    assert files.open == []
    hubs.broken["http://a:4723"] = DeviceFailure(Category.APP_INSTALL_FAILED, "no")
    with pytest.raises(DeviceFailure, match="no"):
        await pools.acquire("ios", APP, SEED)
    assert files.open == []


async def test_a_remote_hub_without_a_file_server_is_a_configuration_error() -> None:
    pools = PooledDevices([hub_pool("a", delivery=AppDelivery.URL)], hubs=FakeHubs())
    with pytest.raises(DeviceFailure, match="MOBILETEST_EXECUTOR_FILES_LISTEN") as raised:
        await pools.acquire("ios", APP, SEED)
    assert raised.value.category is Category.CONFIG_INVALID


async def test_an_external_artifact_url_is_passed_to_the_hub() -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool("a", slots=2)], hubs=hubs)
    await pools.acquire("ios", Build(artifact_url="https://builds.example/app.ipa"), SEED)
    await pools.acquire("ios", NO_BUILD, SEED)
    assert [opened.app for opened in hubs.opened] == ["https://builds.example/app.ipa", None]


@pytest.mark.parametrize(
    "build", [Build(static_url="http://10.1.2.3/"), Build(artifact_url="http://169.254.169.254/a.apk")]
)
async def test_private_addresses_are_refused_before_a_session_is_opened(build: Build) -> None:
    hubs = FakeHubs()
    capabilities: dict[str, Json] = {"browserName": "chrome"} if build.static_url else {}
    pools = PooledDevices([hub_pool("a", **capabilities)], hubs=hubs)
    with pytest.raises(DeviceFailure, match="is not a public address") as raised:
        await pools.acquire("ios", build, SEED)
    assert raised.value.category is Category.CONFIG_INVALID
    assert (hubs.opened, pools.free("ios")) == ([], 1)


async def test_a_web_build_goes_to_a_pool_that_may_open_its_page() -> None:
    hubs, inside = FakeHubs(), AddressPolicy.parse(["10.1.0.0/16"])
    a, b = hub_pool("a", slots=9, browserName="chrome"), hub_pool("b", browserName="chrome")
    assert b.hub is not None
    pools = PooledDevices([a, replace(b, hub=replace(b.hub, addresses=inside))], hubs=hubs)
    await pools.acquire("ios", Build(static_url="http://10.1.2.3/"), SEED)
    assert [opened.name for opened in hubs.opened] == ["b-1"]


@pytest.mark.parametrize("address", ["/etc/passwd", "../a.apk", "file:///etc/passwd", "FILE:/a", "C:\\\\a.apk", ""])
async def test_builds_cannot_name_files_of_the_hubs_machine(address: str) -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool("a")], hubs=hubs)
    with pytest.raises(DeviceFailure, match="artifact_url must be a URL such as") as raised:
        await pools.acquire("ios", Build(artifact_url=address), SEED)
    assert raised.value.category is Category.ARTIFACT_INVALID
    assert (hubs.opened, pools.free("ios")) == ([], 1)


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
