"""A swipe needs the size of the screen: how often a hub is asked for it, and for what."""

from services.executor.automation.devices.gestures import scroll, swipe
from services.executor.automation.devices.port import Build, DeviceInfo, Session
from services.executor.automation.devices.webdriver.device import WebDriverDevice
from services.executor.automation.devices.webdriver.sessions import assemble_device
from services.executor.automation.screen.elements import Bounds
from tests.fakes.webdriver import FakeHub, fake_driver

WINDOW = {"x": 0, "y": 24, "width": 400, "height": 800}
SOURCE = '<hierarchy width="400" height="800"/>'
VIEWPORT = "return [innerWidth, innerHeight]"


def phone(hub: FakeHub) -> WebDriverDevice:
    info = DeviceInfo("phone-1", "android", "webdriver", simulated=False)
    driver = fake_driver(hub, {"automationName": "UiAutomator2"})
    return assemble_device(driver, Session("http://hub", "one"), info, Build(package_name="com.example.shop"), None)


def browser(hub: FakeHub) -> WebDriverDevice:
    info = DeviceInfo("browser-1", "android", "webdriver", simulated=False)
    return assemble_device(fake_driver(hub), Session("http://hub", "one"), info, Build(), None)


async def test_swipes_read_no_page_source_and_ask_for_the_window_once() -> None:
    hub = FakeHub({"GET /window/rect": dict(WINDOW)})
    device = phone(hub)
    await swipe(device, "left")
    await scroll(device, "down")
    await scroll(device, "up")
    assert hub.orders() == ["GET /window/rect", *["POST /actions"] * 3]


async def test_a_swipe_after_a_look_asks_for_nothing() -> None:
    hub = FakeHub({"GET /source": SOURCE})
    device = phone(hub)
    assert (await device.tree()).bounds == await device.screen_bounds() == Bounds(0, 0, 400, 800)
    await swipe(device, "left")
    assert hub.orders() == ["GET /source", "POST /actions"]


async def test_the_window_is_asked_for_again_after_a_rotation() -> None:
    hub = FakeHub({"GET /window/rect": dict(WINDOW)})
    device = phone(hub)
    assert await device.screen_bounds() == Bounds(0, 0, 400, 800)
    hub.replies["GET /window/rect"] = {"x": 24, "y": 0, "width": 800, "height": 400}
    await device.set_orientation("landscape")
    assert await device.screen_bounds() == Bounds(0, 0, 800, 400)
    assert hub.orders().count("GET /window/rect") == 2


async def test_a_browser_swipes_in_its_viewport_and_not_in_its_window() -> None:
    hub = FakeHub({VIEWPORT: [360, 640], "GET /window/rect": dict(WINDOW)})
    device = browser(hub)
    await swipe(device, "left")
    assert await device.screen_bounds() == Bounds(0, 0, 360, 640)
    assert hub.orders() == [VIEWPORT, "POST /actions"]
