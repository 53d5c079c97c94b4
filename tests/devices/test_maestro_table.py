"""Each of Maestro's commands in Chromium, as the table of docs/maestro.md says, and on Appium's fake driver."""

from collections.abc import Iterator

import pytest

from deploy.devices.hubs import Hub
from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.flows.commands import CommandSpec, Support
from tests.devices.conftest import BROWSER, PHONE, browser_target, phone_target
from tests.devices.hub_devices import HubDevices, SharedBrowser
from tests.hubs import serve_folder
from tests.maestro.table import APP, ROWS, check_cell

# Of the browser, in which they stay: these commands have one of their own.
CHANGES_SETTINGS = {
    *("setAirplaneMode", "toggleAirplaneMode", "setDarkMode", "toggleDarkMode", "assertDarkMode", "assertLightMode"),
    *("setLocation", "travel", "setOrientation", "setPermissions", "launchApp"),
}

# On the fake driver, on which the others do what they do in Chromium.
WITHOUT_EFFECT = {"launchApp", "stopApp", "killApp", "clearState", "clearKeychain", "hideKeyboard"}
REFUSED = {
    *("setAirplaneMode", "toggleAirplaneMode", "setDarkMode", "toggleDarkMode", "assertDarkMode", "assertLightMode"),
    *("addMedia", "back", "openBrowser", "openLink", "pressKey", "setPermissions"),
}


@pytest.fixture(scope="module")
def app() -> Iterator[str]:
    with serve_folder(APP) as url:
        yield url


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_each_command_in_chromium(chromedriver: Hub, browsers: SharedBrowser, app: str, row: CommandSpec) -> None:
    build = AppUnderTest(app_name="Commands", static_url=f"{app}/index.html")
    own = HubDevices(browser_target(chromedriver), BROWSER)
    devices = own if row.name in CHANGES_SETTINGS else browsers
    await check_cell(devices, row.name, row.chromium, build=build, second_page=f"{app}/second.html")
    assert own.open == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_each_command_on_the_fake_driver(appium: Hub, row: CommandSpec) -> None:
    """Its app is always the same, whatever is done to it."""
    phones = HubDevices(phone_target(appium), PHONE, app=str(APP / "fake_driver.xml"))
    second = "https://commands.example.com/second.html"
    support: Support = "refused" if row.name in REFUSED else "no effect" if row.name in WITHOUT_EFFECT else row.chromium
    await check_cell(phones, row.name, support, build=AppUnderTest(), second_page=second, reacts=False)
