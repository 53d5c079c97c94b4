"""Keys, typing and taps on phones."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.devices.webdriver.android import AndroidCommands
from mobiletest_automation.devices.webdriver.driver_session import ELEMENT_KEY
from mobiletest_automation.devices.webdriver.hub_connection import DriverError, Json
from mobiletest_automation.devices.webdriver.native_view import NativeView
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import NOWHERE, Bounds, Element, Role, walk
from tests.fakes.webdriver import FakeHub, fake_driver
from tests.unit.automation.attempts import fails
from tests.unit.automation.devices.webdriver.phones import BOTH, FIELD, phone

HALF_VISIBLE = """<hierarchy rotation="0" width="360" height="640"><android.widget.FrameLayout bounds="[0,0][360,640]"
    class="android.widget.FrameLayout"><android.widget.Button text="Half" class="android.widget.Button"
    bounds="[0,520][200,760]" enabled="true" displayed="true" clickable="true"/></android.widget.FrameLayout>
    </hierarchy>"""


async def test_a_keyboard_that_stays_is_a_script_error() -> None:
    hub = FakeHub({"mobile: isKeyboardShown": True})
    driver = fake_driver(hub)
    with fails(Category.SCRIPT_ERROR, "the keyboard cannot be hidden"):
        await NativeView(driver, AndroidCommands(driver), patience=0.0).hide_keyboard()


async def test_a_tap_goes_to_the_middle_of_the_visible_part() -> None:
    hub = FakeHub({"GET /source": HALF_VISIBLE})
    device = phone("android", hub)
    tree = await device.view.tree()
    button = next(each for each in walk(tree) if each.text == "Half")
    await device.view.tap(button)
    move = hub.asked[-1][1]["actions"][0]["actions"][0]
    assert (move["x"], move["y"]) == (100, 580)
    await device.view.tap(Element(id="line", bounds=Bounds(100, 400, 400, 0)))
    move = hub.asked[-1][1]["actions"][0]["actions"][0]
    assert (move["x"], move["y"]) == (230, 400)


async def test_a_screen_is_read_whatever_characters_the_app_shows() -> None:
    """UiAutomator2 and XCUITest write them as they are, or as numbers."""
    hub = FakeHub({"GET /source": HALF_VISIBLE.replace("Half", "&#55357;&#x0;\x01\uffffHalf")})
    tree = await phone("android", hub).view.tree()
    assert "\ufffd\ufffd\ufffd\ufffdHalf" in [each.text for each in walk(tree)]


async def test_elements_outside_the_screen_are_not_tapped() -> None:
    hub = FakeHub({"GET /source": HALF_VISIBLE})
    device = phone("android", hub)
    await device.view.tree()
    for bounds in (Bounds(0, 900, 100, 100), NOWHERE):
        with fails(Category.ELEMENT_NOT_FOUND, "is not on the screen and was not tapped"):
            await device.view.tap(Element(text="Below", bounds=bounds))
    assert "POST /actions" not in hub.orders()


@BOTH
async def test_typing_waits_until_the_tapped_field_has_the_focus(platform: str) -> None:
    """Drivers answer a tap before the phone has moved the focus: the field before must not get the text."""
    hub = FakeHub({"GET /element/field-1/rect": _rect(0, 100), "GET /element/field-2/rect": _rect(0, 200)})
    hub.replies["GET /element/active"] = moving("field-1", "field-1", "field-1", "field-2")
    await phone(platform, hub).view.type("Ada", Element(role=Role.FIELD, bounds=Bounds(0, 200, 100, 40)))
    assert hub.asked[-1] == ("POST /element/field-2/value", {"text": "Ada"})


async def test_a_field_moved_by_the_keyboard_is_still_the_tapped_one() -> None:
    hub = FakeHub({"GET /element/field-1/rect": _rect(0, 100), "GET /element/active": dict(FIELD)})
    driver = fake_driver(hub)
    native = NativeView(driver, AndroidCommands(driver), patience=0.0)
    field = Element(role=Role.FIELD, label="Name", bounds=Bounds(0, 500, 100, 40))
    with pytest.raises(DeviceFailure, match='has the focus after a tap on field "Name"'):
        await native.type("Ada", field)
    assert "POST /element/field-1/value" not in hub.orders()
    hub.replies["GET /element/active"] = moving(None, "field-1")
    await native.type("Ada", field)
    assert hub.asked[-1] == ("POST /element/field-1/value", {"text": "Ada"})


async def test_clearing_removes_the_last_characters_wherever_the_caret_is() -> None:
    hub = FakeHub({"GET /element/active": dict(FIELD)})
    await phone("android", hub).view.clear(characters=2)
    pressed = [said["keycode"] for order, said in hub.asked if order == "mobile: pressKey"]
    assert pressed == [123, 67, 67]


@BOTH
async def test_the_field_that_was_typed_into_is_read(platform: str) -> None:
    hub = FakeHub({"GET /element/active": dict(FIELD), "GET /element/field-1/text": "Ad"})
    view = phone(platform, hub).view
    assert await view.field_text() is None
    await view.type("Ada")
    assert [await view.field_text(), await view.field_text(focused=True)] == ["Ad", "Ad"]


async def test_a_field_is_not_read_once_another_has_the_focus_or_it_is_gone() -> None:
    """UiAutomator2 may know one field by several ids, which then have one place."""
    hub = FakeHub({f"GET /element/{name}/rect": _rect(0, y) for name, y in (("field-1", 1), ("same", 1), ("next", 2))})
    hub.replies |= {"GET /element/active": moving("field-1", "same", "next", None), "GET /element/field-1/text": "1"}
    view = phone("android", hub).view
    await view.type("12")
    assert [await view.field_text(focused=True) for _ in range(3)] == ["1", None, None]
    hub.replies["GET /element/field-1/text"] = DriverError("stale element reference", "gone")
    assert await view.field_text() is None


def moving(*focused: str | None) -> Callable[[Mapping[str, Any]], Json]:
    """The focus, look by look; the last one stays."""
    left = list(focused)

    def reply(_: Mapping[str, Any]) -> Json:
        name = left.pop(0) if len(left) > 1 else left[0]
        if name is None:
            raise DriverError("no such element", "")
        return {ELEMENT_KEY: name}

    return reply


def _rect(x: int, y: int) -> Json:
    return {"x": x, "y": y, "width": 100, "height": 40}
