"""The app in real headless Chromium: launches, data and permissions, and what the browser is told of its device."""

import pytest

from deploy.local.ports import Ports
from mobiletest_automation.devices.port import DeviceFailure, LaunchOptions
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.flows.device_commands import Mode, Orientation
from mobiletest_automation.model.failures import Category
from tests.devices.conftest import OpenBrowser, OpenPage
from tests.devices.screens import seen, shows
from tests.unit.automation.attempts import fails


@pytest.fixture
async def browser(open_browser: OpenBrowser, pages: str) -> WebDriverDevice:
    """One of its own: these tests change settings that stay."""
    return await open_browser(f"{pages}/playground.html")


async def test_state_stays_over_launches_until_it_is_cleared(open_page: OpenPage, pages: str) -> None:
    browser = await open_page(f"{pages}/second.html")
    await browser.view.tap(await seen(browser, "Store"))
    await browser.app.launch()
    await shows(browser, "stored: local session kept=cookie")
    await browser.app.launch(LaunchOptions(clear_state=True))
    await shows(browser, "stored: null null")
    await browser.view.tap(await seen(browser, "Store"))
    await browser.app.clear_state()
    await browser.app.launch()
    await shows(browser, "stored: null null")


async def test_arguments_are_the_pages_query(open_page: OpenPage, pages: str) -> None:
    browser = await open_page(f"{pages}/second.html?a=1&b=2")
    await browser.app.launch(LaunchOptions(arguments={"b": True, "c": "x y"}))
    await shows(browser, "?a=1&b=true&c=x+y")


async def test_launching_without_stopping_leaves_the_page_as_it_is(open_page: OpenPage, pages: str) -> None:
    browser = await open_page(f"{pages}/playground.html")
    await browser.view.tap(await seen(browser, "Press me"))
    await browser.app.launch(LaunchOptions(stop_first=False))
    await shows(browser, "pressed")


async def test_a_page_that_is_not_there_is_a_failed_launch(open_page: OpenPage, pages: str) -> None:
    browser = await open_page(f"{pages}/second.html")
    with (
        Ports() as ports,
        pytest.raises(DeviceFailure, match=r"could not be opened: .*ERR_CONNECTION_REFUSED") as raised,
    ):
        await browser.app.launch(LaunchOptions(app_id=f"http://127.0.0.1:{ports.take()}/"))
    assert raised.value.category is Category.APP_LAUNCH_FAILED
    with pytest.raises(DeviceFailure, match=r"http://127\.0\.0\.1:9/ could not be opened"):
        await browser.app.launch(LaunchOptions(app_id="http://127.0.0.1:9/"))  # a port that browsers refuse
    with pytest.raises(DeviceFailure, match="a browser can only open http and https links"):
        await browser.app.open_link("myapp://item/1")
    with pytest.raises(DeviceFailure, match=r"a browser has no app com\.example"):
        await browser.app.launch(LaunchOptions(app_id="com.example"))


async def test_a_crashed_page_is_a_crashed_app(browser: WebDriverDevice) -> None:
    with pytest.raises(DeviceFailure):
        await browser.driver.open_url("chrome://crash")
    with fails(Category.APP_CRASH):
        await browser.view.tree()


async def test_dark_mode_stays_over_pages(browser: WebDriverDevice, pages: str) -> None:
    await browser.app.set_mode(Mode.DARK, on=True)
    await browser.app.open_link(f"{pages}/second.html")
    assert await browser.app.is_mode_on(Mode.DARK)


async def test_permissions_can_be_changed_while_a_page_is_open(browser: WebDriverDevice) -> None:
    state = "return navigator.permissions.query({name: arguments[0]}).then((found) => found.state)"
    for permissions, camera, notifications in (
        ({"all": "allow"}, "granted", "granted"),
        ({"camera": "never"}, "denied", "granted"),
        ({"camera": "unset", "notifications": "deny"}, "prompt", "denied"),
        ({"camera": "always"}, "granted", "denied"),
    ):
        await browser.app.set_permissions(None, permissions)
        assert await browser.driver.execute(state, "camera") == camera
        assert await browser.driver.execute(state, "notifications") == notifications
    with pytest.raises(DeviceFailure, match="unknown permission nfc"):
        await browser.app.launch(LaunchOptions(permissions={"nfc": "allow"}))


async def test_a_page_sees_how_the_screen_is_turned(browser: WebDriverDevice) -> None:
    turned: dict[Orientation, list[Json]] = {
        "landscape_left": ["landscape-primary", 90],
        "landscape_right": ["landscape-secondary", 270],
        "upside_down": ["portrait-secondary", 180],
        "portrait": ["portrait-primary", 0],
    }
    for orientation, expected in turned.items():
        await browser.app.set_orientation(orientation)
        assert await browser.driver.execute("return [screen.orientation.type, screen.orientation.angle]") == expected
        bounds = (await browser.view.tree()).bounds
        assert (bounds.width > bounds.height) is orientation.startswith("landscape")
