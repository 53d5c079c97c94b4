"""Pools are read from a YAML file; errors have the position of the wrong value."""

from pathlib import Path

import pytest

from mobiletest_automation.devices.simulated.app_model import Pace
from mobiletest_automation.devices.webdriver.hub_target import NEW_COMMAND_SECONDS, AppDelivery, HubTarget
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.web_addresses import AddressRefused
from services.executor.pools.config import PoolFileError, load_pools, read_pools
from services.executor.pools.pool import DEFAULT_POOLS, Pool


def test_without_a_file_both_platforms_have_simulated_devices_if_these_are_allowed() -> None:
    assert load_pools(None) == ()
    assert load_pools(None, simulated=True) == DEFAULT_POOLS
    assert read_pools("pools: []", simulated=True) == ()
    assert [pool.platform for pool in DEFAULT_POOLS] == ["android", "ios"]


def test_pools_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text(
        """
pools:
  - {platform: Android, kind: simulated, slots: 2, step_delay: 500ms, time_scale: 0.1}
  - name: lab
    platform: ios
    kind: webdriver
    slots: 3
    url: https://lab.example:4723/wd/hub/
    new_command_timeout: 2m
    labels: [iPhone 15, rack 3]
    capabilities:
      platformName: iOS
      appium:automationName: XCUITest
      appium:wdaLocalPort: 8100
      appium:settings: {snapshotMaxDepth: 60, list: [1, x, null, true]}
"""
    )
    first, second = load_pools(path, simulated=True)
    assert first == Pool(name="simulated-android", platform="android", slots=2, pace=Pace(0.5, 0.1))
    hub = HubTarget(
        url="https://lab.example:4723/wd/hub",
        capabilities={
            "platformName": "iOS",
            "appium:automationName": "XCUITest",
            "appium:wdaLocalPort": 8100,
            "appium:settings": {"snapshotMaxDepth": 60, "list": [1, "x", None, True]},
        },
        app_delivery=AppDelivery.URL,
        new_command_timeout=120.0,
    )
    assert second == Pool(name="lab", platform="ios", slots=3, hub=hub, labels=("iPhone 15", "rack 3"))
    assert second.device_name(2) == "lab-2 (iPhone 15, rack 3)"


@pytest.mark.parametrize(
    ("host", "delivery"),
    [
        ("localhost", AppDelivery.PATH),
        ("127.0.0.1", AppDelivery.PATH),
        ("127.8.8.8", AppDelivery.PATH),
        ("[::1]", AppDelivery.PATH),
        ("10.0.0.7", AppDelivery.URL),
        ("appium.lab", AppDelivery.URL),
    ],
)
def test_local_hubs_get_a_path_and_remote_hubs_an_address(host: str, delivery: AppDelivery) -> None:
    [pool] = read_pools(f'pools:\n  - {{platform: ios, kind: webdriver, url: "http://{host}:4723"}}')
    assert pool.hub is not None
    assert (pool.hub.app_delivery, pool.hub.new_command_timeout) == (delivery, NEW_COMMAND_SECONDS)
    [pool] = read_pools(f'pools:\n  - {{platform: ios, kind: webdriver, url: "http://{host}:4723", app: path}}')
    assert pool.hub is not None
    assert pool.hub.app_delivery is AppDelivery.PATH


def hub(fields: str, url: str = "http://lab:4723") -> str:
    """A pool of a hub with these fields more, in the third line and what follows."""
    return f'pools:\n  - {{platform: ios, kind: webdriver, url: "{url}",\n{fields}}}'


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("pols: []", 1, 1, "did you mean pools?"),
        ("pools:\n  - {platform: android}", 2, 5, "kind is missing"),
        ("pools:\n  - {platform: windows, kind: simulated}", 2, 16, "android, ios"),
        ("pools:\n  - {platform: ios, kind: simulatd}", 2, 27, "did you mean simulated?"),
        ("pools:\n  - {platform: ios, kind: simulated, slots: 0}", 2, 45, "from 1 to 1000"),
        ("pools:\n  - {platform: ios, kind: simulated, slot: 1}", 2, 38, "did you mean slots?"),
        ("pools:\n  - &a {platform: ios, kind: simulated}\n  - *a", 3, 5, "aliases"),
        ("pools:\n" + "  - {platform: ios, kind: simulated}\n" * 2, 2, 5, 'duplicate pool name "simulated-ios"'),
        ("pools:\n  - {platform: ios, kind: simulated,\nurl: x}", 3, 1, "url does not apply to a pool of kind"),
        ("pools:\n  - {platform: ios, kind: webdriver}", 2, 5, "url is missing"),
        (hub("step_delay: 1s"), 3, 1, "step_delay does not apply to a pool of kind webdriver"),
        (hub("labels: x"), 3, 9, "expected a list"),
        (hub("allowed_apps: com.example.a"), 3, 15, "expected a list"),
        (hub("organisation: ''"), 3, 15, "expected the id of an organisation"),
        (
            hub("organisation: a") + "\n  - {platform: ios, kind: simulated}",
            4,
            5,
            "all ios pools of a worker need the same organisation and not_for",
        ),
        (hub("allowed_addresses: [10.0.0.1/8]"), 3, 20, "expected host names, addresses and networks"),
        (hub("app: file"), 3, 6, "expected one of path, url"),
        (hub("new_command_timeout: 1s"), 3, 22, "from 10 to 3600"),
        (hub("capabilities: [1]"), 3, 15, "expected a mapping"),
        (hub("capabilities: {browsername: chrome}"), 3, 16, "did you mean browserName?"),
        (hub("capabilities: {automationName: X}"), 3, 16, "add a vendor prefix, such as appium:automationName"),
        (hub("capabilities: {'appium:': X}"), 3, 16, "not a standard capability"),
        (hub("capabilities: {'appium:app': x}"), 3, 16, "appium:app cannot be set here"),
        (hub("capabilities: {'appium:newCommandTimeout': 5}"), 3, 16, "set new_command_timeout"),
        (hub("capabilities: {'appium:options': {app: x}}"), 3, 35, "appium:app cannot be set here"),
        (hub("slots: 1", url="lab:4723"), 2, 43, "expected a URL such as"),
        (hub("slots: 1", url="ftp://lab"), 2, 43, "expected a URL such as"),
        (hub("slots: 1", url="http://lab:99999"), 2, 43, "invalid URL"),
        (hub("slots: 1", url="http://"), 2, 43, "expected a URL such as"),
        (hub("slots: 1", url="http://me:secret@lab"), 2, 43, "must not contain a user or password"),
        (hub("slots: 1", url="http://lab?x=1"), 2, 43, "must not have a query or fragment"),
    ],
)
def test_errors_point_to_the_wrong_field_of_the_file(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_pools(text, simulated=True)
    assert message in error.value.message
    assert "secret" not in error.value.message
    assert (error.value.line, error.value.column) == (line, column)


def test_simulated_devices_need_a_setting() -> None:
    text = "pools:\n  - {platform: ios, kind: simulated}"
    with pytest.raises(DocumentError, match=r"line 2, column 27 .*set MOBILETEST_SIMULATED_DEVICES=true to allow them"):
        read_pools(text)
    assert len(read_pools(text, simulated=True)) == 1


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "pools.yaml"
    path.write_text("pools:\n  - {platform: ios, kind: tent}")
    with pytest.raises(PoolFileError, match=r"line 2, column 27 \(.*pools\.yaml, pools\[0\]\.kind\): expected one of"):
        load_pools(path)


ROOT = Path(__file__).parents[4]


def test_documented_pool_files_are_valid() -> None:
    page = (ROOT / "docs" / "devices.md").read_text()
    shown = read_pools(page.split("```yaml\n", 1)[1].split("```", 1)[0], simulated=True)
    assert [pool.name for pool in shown] == ["emulators", "browser", "simulated-ios"]


def test_a_pool_may_open_the_addresses_of_its_own_and_those_of_all_pools() -> None:
    [pool] = read_pools(hub("allowed_addresses: [10.1.0.0/16]"), ["shop.internal"])
    assert pool.hub is not None
    pool.hub.addresses.check("http://10.1.2.3/")
    pool.hub.addresses.check("http://shop.internal/")
    with pytest.raises(AddressRefused):
        pool.hub.addresses.check("http://10.2.0.1/")


def test_a_pool_is_for_all_organisations_or_one_or_all_but_some() -> None:
    [shared] = read_pools(hub("allowed_apps: [com.example.a]"))
    assert shared.hub is not None
    assert (shared.hub.dedicated, shared.hub.allowed_apps) == (False, {"com.example.a"})
    assert shared.accepts("a")
    text = hub("organisation: a") + "\n  - {platform: android, kind: simulated, not_for: [a]}"
    dedicated, others = read_pools(text, simulated=True)
    assert dedicated.hub is not None
    assert dedicated.hub.dedicated
    assert [pool.accepts(org_id) for pool in (dedicated, others) for org_id in "ab"] == [True, False, False, True]
