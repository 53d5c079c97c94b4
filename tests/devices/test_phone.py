"""The device port on a real Appium server, as far as its fake driver goes."""

from typing import Any

import pytest

from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Point, Role
from tests.devices.conftest import OpenPhone
from tests.devices.screens import find, seen
from tests.unit.automation.attempts import fails


@pytest.fixture
async def phone(open_phone: OpenPhone) -> WebDriverDevice:
    return await open_phone()


async def test_the_tree_is_the_apps(phone: WebDriverDevice) -> None:
    tree = await phone.view.tree()
    assert (tree.bounds.width, tree.bounds.height) == (360, 640)
    save = find(tree, "Save", Role.BUTTON)
    assert save is not None
    assert (save.id, save.bounds.x, save.bounds.y, save.bounds.width) == ("save", 10, 100, 160)
    drop = find(tree, "Delete")
    assert drop is not None
    assert not drop.enabled
    assert find(tree, "Hidden") is None
    news = find(tree, "Newsletter")
    assert news is not None
    assert news.checked is True


async def test_taps_reach_the_element_that_was_seen(phone: WebDriverDevice) -> None:
    again = await seen(phone, "again")
    await phone.view.tap(again)
    await phone.view.tap(again, times=2)
    assert await attribute(phone, "again", "clicks") == "3"
    assert not await attribute(phone, "save", "clicks")


async def test_typing_and_clearing(phone: WebDriverDevice) -> None:
    name = await seen(phone, "Name")
    await phone.view.type("Ada", name)
    assert await text(phone, "name") == "Ada"
    await phone.view.clear(name, characters=2)
    assert await text(phone, "name") == "A"
    await phone.view.clear(name)
    assert await text(phone, "name") == ""
    await phone.view.tap(name)
    await phone.view.type("Grace")
    await phone.view.clear(characters=3)
    assert await text(phone, "name") == "Gr"
    with fails(Category.SCRIPT_ERROR):
        await phone.view.type("Ada", await seen(phone, "save"))


async def test_fingers_reach_the_driver_as_w3c_actions(phone: WebDriverDevice) -> None:
    await phone.view.swipe(Point(10, 20), Point(110, 20), 0.2)
    await phone.view.long_press(Point(30, 40), 0.5)
    await phone.view.tap(Point(50, 60))
    logged: Any = await phone.driver.post("/se/log", {"type": "actions"})
    swiped, pressed, tapped = [entry[0]["actions"] for entry in logged]
    assert [(swiped[0]["x"], swiped[0]["y"]), (swiped[-2]["x"], swiped[-2]["y"])] == [(10, 20), (110, 20)]
    assert sum(step["duration"] for step in swiped if step["type"] == "pointerMove") == 200
    assert [step["type"] for step in pressed] == ["pointerMove", "pointerDown", "pause", "pointerUp"]
    assert pressed[2]["duration"] == 500
    assert (tapped[0]["x"], tapped[0]["y"]) == (50, 60)


async def test_source_screenshot_and_log(phone: WebDriverDevice) -> None:
    source = await phone.view.source()
    assert source.content_type == "application/xml"
    assert '<MockButton id="save"' in source.content
    assert (await phone.view.screenshot()).startswith(b"\x89PNG")
    assert (await phone.log()).text == ""


async def test_orientation_and_location(phone: WebDriverDevice) -> None:
    await phone.app.set_orientation("landscape_left")
    assert await phone.driver.get("/orientation") == "LANDSCAPE"
    await phone.app.set_location(48.5, 2.25)
    assert await phone.driver.get("/location") == {"latitude": 48.5, "longitude": 2.25}


async def element_id(phone: WebDriverDevice, name: str) -> str:
    """The driver's own id of the only element with this id."""
    (element,) = await phone.driver.find_all("id", name)
    return element


async def attribute(phone: WebDriverDevice, element: str, name: str) -> Json:
    return await phone.driver.get(f"/element/{await element_id(phone, element)}/attribute/{name}")


async def text(phone: WebDriverDevice, element: str) -> str:
    return await phone.driver.text(await element_id(phone, element))
