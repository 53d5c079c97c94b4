"""Pages on which a step could pass without having done what it says, or be blamed on the device."""

import socket
from dataclasses import replace

import pytest

from deploy.devices.hubs import Hub
from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, LaunchOptions
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.sessions import open_device
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Point, Role, walk
from tests.devices.conftest import BROWSER, OpenBrowser, OpenPage, browser_target
from tests.devices.screens import seen, shows, texts
from tests.unit.automation.attempts import fails


@pytest.fixture
async def browser(open_page: OpenPage, pages: str) -> WebDriverDevice:
    return await open_page(f"{pages}/traps.html")


async def test_a_form_whose_fields_are_called_like_its_properties_is_read(browser: WebDriverDevice) -> None:
    for name in ("Colour", "Tags"):
        await browser.view.type("blue", await seen(browser, name, Role.FIELD))
        assert (await seen(browser, name, Role.FIELD)).text == "blue"


async def test_what_is_mostly_cut_off_is_scrolled_to_instead_of_tapping_what_is_around_it(
    browser: WebDriverDevice,
) -> None:
    await browser.view.tap(await seen(browser, "Card"))
    await shows(browser, "the card")


async def test_a_frame_in_a_frame_is_acted_in(browser: WebDriverDevice) -> None:
    await browser.view.tap(await seen(browser, "Deep"))
    await shows(browser, "deep down")


async def test_what_cannot_be_scrolled_to_is_not_tapped(browser: WebDriverDevice) -> None:
    script = "document.getElementById('press').style.cssText = 'position: fixed; left: -500px'"
    await browser.driver.execute(script)
    button = next(each for each in walk(await browser.view.tree()) if each.id == "press")
    with pytest.raises(DeviceFailure, match='button "Press me" was outside the screen for 3 s'):
        await browser.view.tap(button)


async def test_a_password_is_in_no_source_and_no_tree(browser: WebDriverDevice) -> None:
    await browser.view.type("hunter2", await seen(browser, "Password", Role.FIELD))
    assert "hunter2" not in (await browser.view.source()).content
    assert "hunter2" not in repr([(each.text, each.attributes) for each in walk(await browser.view.tree())])
    assert await browser.driver.execute("return document.getElementById('password').value") == "hunter2"


async def test_an_invalid_number_is_cleared_too(browser: WebDriverDevice) -> None:
    await browser.view.type("1e", await seen(browser, "Age", Role.FIELD))
    await browser.view.clear(await seen(browser, "Age", Role.FIELD))
    await browser.view.type("5")
    assert (await seen(browser, "Age", Role.FIELD)).text == "5"


async def test_an_option_whose_choice_opens_a_dialog_is_chosen(browser: WebDriverDevice) -> None:
    await browser.view.tap(await seen(browser, "Size", Role.PICKER))
    await browser.view.tap(await seen(browser, "Large"))
    await seen(browser, "Sure?")
    with pytest.raises(DeviceFailure, match="only takes the keys enter and escape, not tab"):
        await browser.view.press_key("tab")
    await browser.view.press_key("enter")
    await shows(browser, "Large")


async def test_after_a_swipe_that_leaves_the_screen_a_tap_is_one(browser: WebDriverDevice) -> None:
    with pytest.raises(DeviceFailure, match="move target out of bounds"):
        await browser.view.swipe(Point(200, 500), Point(200, -50))
    await browser.view.tap(await seen(browser, "Press me"))
    await shows(browser, "pressed")


async def test_a_page_that_begins_with_a_dialog_is_launched(browser: WebDriverDevice, pages: str) -> None:
    await browser.app.launch(LaunchOptions(app_id=f"{pages}/traps.html?hello"))
    await browser.view.tap(await seen(browser, "OK"))
    await seen(browser, "Press me")


async def test_a_location_leaves_other_permissions_and_may_come_first(open_browser: OpenBrowser, pages: str) -> None:
    browser = await open_browser(f"{pages}/traps.html?permissions")
    await browser.app.stop()
    await browser.app.set_location(1, 2)
    await browser.app.launch()
    await shows(browser, "prompt granted")
    await browser.app.launch(LaunchOptions(permissions={"camera": "allow"}))
    await shows(browser, "granted denied")
    await browser.app.set_location(1, 2)
    await shows(browser, "granted granted")


async def test_a_page_that_does_not_load_is_the_apps_failure_and_not_the_hubs(chromedriver: Hub) -> None:
    target = browser_target(chromedriver)
    hasty = replace(target, capabilities={**target.capabilities, "timeouts": {"pageLoad": 500}})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        device = await open_device(hasty, BROWSER, AppUnderTest(static_url=url))
        try:
            with pytest.raises(DeviceFailure, match="could not be opened: timeout") as raised:
                await device.app.launch()
        finally:
            await device.close()
    assert raised.value.category is Category.APP_LAUNCH_FAILED


async def test_file_urls_are_refused_as_pages(browser: WebDriverDevice) -> None:
    await browser.app.stop()
    await browser.app.install(AppUnderTest(static_url="file:///etc/passwd"))
    with fails(Category.CONFIG_INVALID, r"static_url is not an http\(s\) URL"):
        await browser.app.launch()
    assert await texts(browser) == []
