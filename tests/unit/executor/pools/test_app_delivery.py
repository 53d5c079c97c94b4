"""What a hub gets of a build: a path, a URL that is valid while the device is in use, or nothing."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest, DeviceFailure
from mobiletest_automation.devices.webdriver.hub_target import AppDelivery
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import AddressPolicy
from services.executor.pools.pool import Pool
from services.executor.pools.pooled_devices import PooledDevices
from tests.fakes.hubs import FakeHubs
from tests.unit.automation.attempts import fails
from tests.unit.executor.pools.hub_pools import APP, SEED, file, hub_pool


async def test_browsers_only_run_web_builds_and_get_no_file() -> None:
    hubs = FakeHubs()
    browser, phone = hub_pool("chrome", slots=2, browserName="chrome"), hub_pool("phone", slots=1)
    pools = PooledDevices([browser, phone], hubs=hubs, busy_seconds=0)
    web = AppUnderTest(static_url="https://shop.example", file=file)
    await pools.acquire("ios", web, SEED)
    await pools.acquire("ios", APP, SEED)
    assert [(opened.name, opened.app) for opened in hubs.opened] == [("chrome-1", None), ("phone-1", "/cache/app.ipa")]
    with pytest.raises(DeviceFailure, match="became free"):
        await pools.acquire("ios", APP, SEED)
    with fails(Category.CONFIG_INVALID, "every device pool for ios has browsers"):
        await PooledDevices([browser], hubs=hubs).acquire("ios", APP, SEED)


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


async def test_an_external_artifact_url_is_passed_to_the_hub() -> None:
    hubs = FakeHubs()
    pools = PooledDevices([hub_pool("a", slots=2)], hubs=hubs)
    await pools.acquire("ios", AppUnderTest(artifact_url="https://builds.example/app.ipa"), SEED)
    await pools.acquire("ios", NO_BUILD, SEED)
    assert [opened.app for opened in hubs.opened] == ["https://builds.example/app.ipa", None]


NOT_PUBLIC, NO_URL = "is not a public address", "artifact_url must be a URL such as"


@pytest.mark.parametrize(
    ("build", "pool", "category", "message"),
    [
        (
            AppUnderTest(static_url="http://10.1.2.3/"),
            hub_pool("a", browserName="chrome"),
            Category.CONFIG_INVALID,
            NOT_PUBLIC,
        ),
        (AppUnderTest(artifact_url="http://169.254.169.254/a.apk"), hub_pool("a"), Category.CONFIG_INVALID, NOT_PUBLIC),
        (APP, hub_pool("a", delivery=AppDelivery.URL), Category.CONFIG_INVALID, "MOBILETEST_EXECUTOR_FILES_LISTEN"),
        *(
            (AppUnderTest(artifact_url=address), hub_pool("a"), Category.ARTIFACT_INVALID, NO_URL)
            for address in ("/etc/passwd", "../a.apk", "file:///etc/passwd", "FILE:/a", "C:\\\\a.apk", "")
        ),
    ],
)
async def test_what_a_hub_must_not_get_is_refused_before_a_session_is_opened(
    build: AppUnderTest, pool: Pool, category: Category, message: str
) -> None:
    hubs = FakeHubs()
    pools = PooledDevices([pool], hubs=hubs)
    with fails(category, message):
        await pools.acquire("ios", build, SEED)
    assert (hubs.opened, pools.free("ios")) == ([], 1)


async def test_a_web_build_goes_to_a_pool_that_may_open_its_page() -> None:
    hubs, inside = FakeHubs(), AddressPolicy.parse(["10.1.0.0/16"])
    a, b = hub_pool("a", slots=9, browserName="chrome"), hub_pool("b", browserName="chrome")
    assert b.hub is not None
    pools = PooledDevices([a, replace(b, hub=replace(b.hub, addresses=inside))], hubs=hubs)
    await pools.acquire("ios", AppUnderTest(static_url="http://10.1.2.3/"), SEED)
    assert [opened.name for opened in hubs.opened] == ["b-1"]
