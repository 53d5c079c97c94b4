"""Real hubs for every test here, and browsers on them.

A browser takes a second of CPU to start, so tests share one where they do not change its settings.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast

import pytest

from deploy.devices.hubs import Hub, chromium_capabilities
from mobiletest_automation.devices.port import AppUnderTest, DeviceInfo, Seed
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.sessions import delete_session, open_device
from mobiletest_automation.model.devices import Session
from mobiletest_automation.web_addresses import AddressPolicy
from tests.devices.hub_devices import OpenSession, SharedBrowser
from tests.hubs import appium, chromedriver, serve_folder, web_shop

__all__ = ["appium", "chromedriver", "web_shop"]

BROWSER = DeviceInfo("browser-1", "android", simulated=False, browser=True)
PHONE = DeviceInfo("phone-1", "android", simulated=False)
FAKE_APP = Path(__file__).parent / "pages" / "app.xml"

OpenBrowser = Callable[[str], Awaitable[WebDriverDevice]]
OpenPage = Callable[[str], Awaitable[WebDriverDevice]]
OpenPhone = Callable[[], Awaitable[WebDriverDevice]]


def browser_target(hub: Hub) -> HubTarget:
    capabilities = cast("dict[str, Json]", chromium_capabilities())
    return HubTarget(url=hub.url, capabilities=capabilities, addresses=AddressPolicy.parse(["127.0.0.1"]))


def phone_target(hub: Hub, *, new_command_timeout: float = 60.0) -> HubTarget:
    asked: dict[str, Json] = {"platformName": "Fake", "appium:automationName": "Fake", "appium:deviceName": "Fake"}
    return HubTarget(url=hub.url, capabilities=asked, new_command_timeout=new_command_timeout)


@pytest.fixture(scope="session")
def pages() -> Iterator[str]:
    """Where the pages of these tests are served."""
    with serve_folder(Path(__file__).parent / "pages") as url:
        yield url


@pytest.fixture
async def open_browser(chromedriver: Hub) -> AsyncIterator[OpenBrowser]:
    """Opens a browser of its own with this page as its build's; closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_one(url: str) -> WebDriverDevice:
            device = await open_device(browser_target(chromedriver), BROWSER, AppUnderTest(static_url=url))
            stack.push_async_callback(device.close)
            await device.app.launch()
            return cast("WebDriverDevice", device)

        yield open_one


@pytest.fixture(scope="session")
def browser_session(chromedriver: Hub) -> Iterator[OpenSession]:
    async def open_one() -> OpenSession:
        device = cast("WebDriverDevice", await open_device(browser_target(chromedriver), BROWSER, AppUnderTest()))
        await device.driver.connection.close()
        return OpenSession(device.driver.id, device.driver.capabilities)

    session = asyncio.run(open_one())
    yield session
    asyncio.run(delete_session(Session(chromedriver.url, session.id)))


@pytest.fixture
async def browsers(chromedriver: Hub, browser_session: OpenSession) -> AsyncIterator[SharedBrowser]:
    """The shared browser for each attempt, without the data of the one before."""
    browsers = SharedBrowser(browser_target(chromedriver), BROWSER, browser_session)
    yield browsers
    assert browsers.open == []


@pytest.fixture
async def open_page(browsers: SharedBrowser) -> AsyncIterator[OpenPage]:
    """Opens a page as the build of the shared browser."""
    async with AsyncExitStack() as stack:

        async def open_one(url: str) -> WebDriverDevice:
            device = await browsers.acquire("android", AppUnderTest(static_url=url), Seed("run", 1))
            stack.push_async_callback(browsers.release, device)
            await device.app.launch()
            return device

        yield open_one


@pytest.fixture
async def browser(open_page: OpenPage, pages: str) -> WebDriverDevice:
    return await open_page(f"{pages}/playground.html")


@pytest.fixture
async def open_phone(appium: Hub) -> AsyncIterator[OpenPhone]:
    """Opens a session of Appium's fake driver; closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_one() -> WebDriverDevice:
            device = await open_device(phone_target(appium), PHONE, AppUnderTest(), app=str(FAKE_APP))
            stack.push_async_callback(device.close)
            await device.app.install(AppUnderTest())
            await device.app.launch()
            return cast("WebDriverDevice", device)

        yield open_one
