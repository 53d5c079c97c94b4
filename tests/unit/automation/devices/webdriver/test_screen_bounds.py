"""Which requests a swipe makes to learn the size of the screen, and how often."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

import pytest

from mobiletest_automation.devices import webdriver
from mobiletest_automation.devices.gestures import scroll, swipe
from mobiletest_automation.devices.port import AppUnderTest, DeviceFailure, DeviceInfo
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.devices.webdriver.android import AndroidCommands
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.drivers import HubSession, assemble_device
from mobiletest_automation.devices.webdriver.hub_connection import DriverError
from mobiletest_automation.devices.webdriver.native_view import NativeView
from mobiletest_automation.devices.webdriver.phone_app import PhoneApp
from mobiletest_automation.screen.elements import Bounds, Point, walk
from tests.fakes.webdriver import TARGET, FakeHub, fake_driver
from tests.unit.automation.devices.webdriver.phones import APP, in_turn, phone

WINDOW = {"x": 0, "y": 24, "width": 400, "height": 800}
SOURCE = '<hierarchy width="400" height="800"/>'
VIEWPORT = "return [innerWidth, innerHeight]"
HERE = Point(10, 10)
PAGE_SCRIPT = files(webdriver).joinpath("page.js").read_text()


def browser(hub: FakeHub) -> WebDriverDevice:
    info = DeviceInfo("browser-1", "android", simulated=False)
    return assemble_device(HubSession(driver=fake_driver(hub), target=TARGET, info=info, build=AppUnderTest()))


async def swipe_left(device: WebDriverDevice) -> None:
    await swipe(device, Watcher(device), "left")


async def test_swipes_read_no_page_source_and_ask_for_the_window_once() -> None:
    hub = FakeHub({"GET /window/rect": dict(WINDOW)})
    device = phone("android", hub)
    await swipe_left(device)
    await scroll(device, Watcher(device), "down")
    await scroll(device, Watcher(device), "up")
    assert hub.orders() == ["GET /window/rect", *["POST /actions"] * 3]


async def test_a_swipe_after_a_look_asks_for_nothing() -> None:
    hub = FakeHub({"GET /source": SOURCE})
    device = phone("android", hub)
    assert (await device.view.tree()).bounds == await device.view.screen_bounds() == Bounds(0, 0, 400, 800)
    await swipe_left(device)
    assert hub.orders() == ["GET /source", "POST /actions"]


async def test_the_window_is_asked_for_again_after_a_rotation() -> None:
    hub = FakeHub({"GET /window/rect": dict(WINDOW), "GET /orientation": "PORTRAIT"})
    device = phone("android", hub)
    assert await device.view.screen_bounds() == Bounds(0, 0, 400, 800)
    hub.replies["GET /window/rect"] = {"x": 24, "y": 0, "width": 800, "height": 400}
    await device.app.set_orientation("landscape_left")
    assert await device.view.screen_bounds() == Bounds(0, 0, 800, 400)
    assert hub.orders().count("GET /window/rect") == 2


@pytest.mark.parametrize(
    "act",
    [
        lambda device: device.view.tap(HERE),
        lambda device: device.view.tap(HERE, times=2),
        lambda device: device.view.long_press(HERE),
        lambda device: device.view.back(),
        lambda device: device.view.press_key("enter"),
        lambda device: device.view.hide_keyboard(),
        lambda device: device.app.open_link("shop://video"),
        lambda device: device.app.stop(),
        lambda device: device.app.clear_state(),
        lambda device: device.app.launch(),
    ],
)
async def test_the_bounds_are_asked_for_again_after_an_action(
    act: Callable[[WebDriverDevice], Awaitable[None]],
) -> None:
    """The action may have rotated the screen, or shown a keyboard."""
    hub = FakeHub({"GET /source": SOURCE})
    hub.replies["GET /window/rect"] = {"x": 0, "y": 0, "width": 800, "height": 400}
    device = phone("android", hub)
    assert (await device.view.tree()).bounds == Bounds(0, 0, 400, 800)
    await act(device)
    assert await device.view.screen_bounds() == Bounds(0, 0, 800, 400)


async def test_a_swipe_after_a_tap_notices_that_the_app_has_crashed() -> None:
    times = iter((0.0, 60.0))
    hub = FakeHub({"mobile: queryAppState": 1})
    device = phone("android", hub)
    commands = AndroidCommands(device.driver)
    device.app = PhoneApp(device.driver, commands, TARGET, app_id=APP, app=None, clock=times.__next__)
    device.view = NativeView(device.driver, commands, device.app.check)
    await device.app.launch()
    await device.view.tap(HERE)
    with pytest.raises(DeviceFailure, match=r"com\.example\.shop is no longer running"):
        await swipe_left(device)


async def test_a_browser_swipes_in_its_viewport_and_not_in_its_window() -> None:
    hub = FakeHub({VIEWPORT: [360, 640], "GET /window/rect": dict(WINDOW)})
    device = browser(hub)
    await swipe_left(device)
    assert await device.view.screen_bounds() == Bounds(0, 0, 360, 640)
    assert hub.orders() == [VIEWPORT, "POST /actions"]


async def test_a_browser_swipes_in_its_viewport_after_a_dialog() -> None:
    hub = FakeHub({VIEWPORT: [360, 640], "GET /alert/text": "Delete it?"})
    hub.replies[PAGE_SCRIPT] = DriverError("unexpected alert open", "")
    device = browser(hub)
    await device.view.tap(next(each for each in walk(await device.view.tree()) if each.text == "OK"))
    assert hub.orders()[-1] == "POST /alert/accept"
    assert await device.view.screen_bounds() == Bounds(0, 0, 360, 640)
    hub = FakeHub()
    with pytest.raises(DeviceFailure, match="the driver's answer from the page is malformed"):
        await swipe_left(browser(hub))
    assert set(hub.orders()) == {VIEWPORT}


async def test_the_viewport_is_asked_for_again_while_the_page_is_replaced() -> None:
    hub = FakeHub({VIEWPORT: in_turn(None, [360, 640])})
    await swipe_left(browser(hub))
    assert hub.orders() == [VIEWPORT, VIEWPORT, "POST /actions"]
