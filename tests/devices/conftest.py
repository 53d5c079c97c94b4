"""Real hubs for every test here, and browsers on them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import pytest

from deploy.devices.hubs import Hub, chromium_capabilities
from services.chassis.web_addresses import AddressPolicy
from services.executor.automation.devices.port import Build, DeviceInfo
from services.executor.automation.devices.webdriver.device import WebDriverDevice
from services.executor.automation.devices.webdriver.hub_connection import Json
from services.executor.automation.devices.webdriver.hub_target import HubTarget
from services.executor.automation.devices.webdriver.sessions import open_device
from tests.devices.hub_devices import HubDevices
from tests.hubs import appium, chromedriver, serve_folder, web_shop

__all__ = ["appium", "chromedriver", "web_shop"]

BROWSER = DeviceInfo("browser-1", "android", simulated=False, browser=True)
PHONE = DeviceInfo("phone-1", "android", simulated=False)
FAKE_APP = Path(__file__).parent / "pages" / "app.xml"

OpenBrowser = Callable[[str], Awaitable[WebDriverDevice]]
OpenPhone = Callable[[], Awaitable[WebDriverDevice]]


def browser_target(hub: Hub) -> HubTarget:
    capabilities = cast("dict[str, Json]", chromium_capabilities())
    return HubTarget(url=hub.url, capabilities=capabilities, addresses=AddressPolicy.parse(["127.0.0.1"]))


def phone_target(hub: Hub, *, new_command_timeout: float = 60.0) -> HubTarget:
    asked: dict[str, Json] = {
        "platformName": "Fake",
        "appium:automationName": "Fake",
        "appium:deviceName": "Fake",
    }
    return HubTarget(url=hub.url, capabilities=asked, new_command_timeout=new_command_timeout)


@pytest.fixture(scope="session")
def pages() -> Iterator[str]:
    """Where the pages of these tests are served."""
    with serve_folder(Path(__file__).parent / "pages") as url:
        yield url


@pytest.fixture
async def open_browser(chromedriver: Hub) -> AsyncIterator[OpenBrowser]:
    """Opens a browser with this page as its build's; closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_one(url: str) -> WebDriverDevice:
            device = await open_device(browser_target(chromedriver), BROWSER, Build(static_url=url))
            stack.push_async_callback(device.close)
            await device.launch()
            return cast("WebDriverDevice", device)

        yield open_one


@pytest.fixture
async def browser(open_browser: OpenBrowser, pages: str) -> WebDriverDevice:
    return await open_browser(f"{pages}/playground.html")


@pytest.fixture
async def browsers(chromedriver: Hub) -> AsyncIterator[HubDevices]:
    """A browser for each attempt."""
    browsers = HubDevices(browser_target(chromedriver), BROWSER)
    yield browsers
    assert browsers.open == []


@pytest.fixture
async def open_phone(appium: Hub) -> AsyncIterator[OpenPhone]:
    """Opens a session of Appium's fake driver; closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_one() -> WebDriverDevice:
            device = await open_device(phone_target(appium), PHONE, Build(), app=str(FAKE_APP))
            stack.push_async_callback(device.close)
            await device.install(Build())
            await device.launch()
            return cast("WebDriverDevice", device)

        yield open_one
