"""Our client and Appium's official one see the same in one session."""

import asyncio
import io
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from appium import webdriver
from appium.options.common.base import AppiumOptions
from appium.webdriver.common.appiumby import AppiumBy
from PIL import Image

from services.executor.automation.devices.webdriver.driver_session import DriverSession
from services.executor.automation.screen.elements import walk
from tests.devices.conftest import OpenPage, OpenPhone
from tests.devices.drivers import find_id, find_one, read_attribute

T = TypeVar("T")


class Attached(webdriver.Remote):
    """The official client in an existing session."""

    def __init__(self, driver: DriverSession, url: str) -> None:
        self._attached = driver.id
        super().__init__(url, options=AppiumOptions())

    def start_session(self, capabilities: Any, browser_profile: str | None = None) -> None:
        self.session_id, self.caps = self._attached, {}


async def official(driver: DriverSession, ask: Callable[[Any], T]) -> T:
    """What `ask` makes of the official client, which blocks."""
    return await asyncio.to_thread(lambda: ask(Attached(driver, driver.connection.display_url)))


@pytest.mark.parametrize("name", ["save", "drop", "name", "news", "gone"])
async def test_elements_are_the_same(open_phone: OpenPhone, name: str) -> None:
    driver = (await open_phone()).driver
    ours = await find_id(driver, name)
    await driver.click(ours) if name != "gone" else None

    def ask(client: Any) -> tuple[Any, ...]:
        element = client.find_element(AppiumBy.ID, name)
        said = tuple(element.get_attribute(each) for each in ("clicks", "value"))
        return element.id, said, element.text, element.rect

    theirs = await official(driver, ask)
    rect = await driver.rect(ours)
    said = tuple([await read_attribute(driver, ours, each) for each in ("clicks", "value")])
    box = {"x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height}
    assert theirs == (ours, said, await driver.text(ours), box)


async def test_source_screenshot_and_orientation_are_the_same(open_phone: OpenPhone) -> None:
    driver = (await open_phone()).driver
    assert await driver.source() == await official(driver, lambda client: client.page_source)
    assert await driver.screenshot() == await official(driver, lambda client: client.get_screenshot_as_png())
    await driver.set_orientation("landscape")
    assert await official(driver, lambda client: client.orientation) == "LANDSCAPE"


async def test_what_one_client_does_the_other_sees(open_phone: OpenPhone) -> None:
    driver = (await open_phone()).driver
    await official(driver, lambda client: client.find_element(AppiumBy.ID, "name").send_keys("Ada"))
    assert await driver.text(await find_id(driver, "name")) == "Ada"
    await official(driver, lambda client: client.set_location(1.5, 2.5, 0))
    assert await driver.get("/location") == {"latitude": 1.5, "longitude": 2.5}


async def test_a_browsers_page_is_the_same(open_page: OpenPage, web_shop: str) -> None:
    device = await open_page(web_shop)
    driver = device.driver

    def ask(client: Any) -> tuple[Any, ...]:
        field = client.find_element(AppiumBy.CSS_SELECTOR, "#email")
        return client.page_source, client.current_url, field.rect, field.get_attribute("placeholder"), field.id

    source, url, rect, placeholder, element = await official(driver, ask)
    assert source == await driver.source()
    assert url == await driver.url()
    ours = await find_one(driver, "css selector", "#email")
    assert (element, placeholder) == (ours, await read_attribute(driver, ours, "placeholder"))
    seen = next(each for each in walk(await device.tree()) if each.id == "email").bounds
    assert (round(seen.x), round(seen.width), round(seen.height)) == (rect["x"], rect["width"], rect["height"])
    assert abs(seen.y - rect["y"]) <= 1


async def test_a_browsers_screenshot_has_the_same_size(open_page: OpenPage, web_shop: str) -> None:
    driver = (await open_page(web_shop)).driver
    theirs = await official(driver, lambda client: client.get_screenshot_as_png())
    assert _size(theirs) == _size(await driver.screenshot())


def _size(picture: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(picture)) as opened:
        return opened.size
