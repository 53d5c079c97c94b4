"""The simulated device carries out its model; random failures are repeatable."""

import io
from collections import Counter

import pytest
from PIL import Image

from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest, DeviceFailure, DeviceInfo, LaunchOptions, Seed
from mobiletest_automation.devices.simulated.app_model import FILLED_LIMIT
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Point, walk
from tests.unit.automation.attempts import fails, run
from tests.unit.automation.devices.simulated.models import HEAD, build, element, shown, started

FORM = (
    HEAD
    + """
state: {name: "", on: false, pick: false, n: 0}
screens:
  first:
    title: Form
    elements:
      - {type: field, id: name, label: Name, bind: name, enter: second}
      - {type: password, id: secret, bind: name}
      - {type: switch, id: on, text: News, bind: on}
      - {type: radio, id: pick, text: Pick, bind: pick}
      - {type: button, id: go, text: Go, enabled: on, tap: second}
      - type: button
        id: more
        text: "More {n}"
        tap: {add: {n: 1}}
        double_tap: {add: {n: 10}}
        long_press: {add: {n: 100}}
      - type: row
        id: row
        elements: [{type: text, text: Ada}, {type: button, id: del, text: Delete, tap: {set: {n: -1}}}]
        tap: {set: {n: 7}}
        swipe_left: {set: {n: -5}}
    swipe_right: {set: {n: 55}}
    refresh: {set: {n: 99}}
  second:
    title: Second
    elements: [{type: text, text: "Hello {name}"}]
links: {"test://second": second}
"""
)


async def test_typing_clearing_and_keys() -> None:
    device = await started(FORM)
    await device.view.type("Ada", await element(device, "name"))
    assert (await element(device, "name")).text == "Ada"
    assert (await element(device, "secret")).text == "•••"
    assert (await element(device, "name")).focused
    await device.view.type("!")
    await device.view.press_key("backspace")
    await device.view.clear(characters=1)
    assert (await element(device, "name")).text == "Ad"
    await device.view.clear(await element(device, "name"))
    assert (await element(device, "name")).text == ""
    await device.view.press_key("enter")
    assert (await shown(device))[0] == "Second"


async def test_typing_without_focus_is_a_script_error() -> None:
    device = await started(FORM)
    with fails(Category.SCRIPT_ERROR, "no editable field"):
        await device.view.type("x")
    with pytest.raises(DeviceFailure, match="unknown key f13"):
        await device.view.press_key("f13")


async def test_switches_toggle_and_radios_stay() -> None:
    device = await started(FORM)
    for identifier, states in (("on", [True, False]), ("pick", [True, True])):
        for state in states:
            await device.view.tap(await element(device, identifier))
            assert (await element(device, identifier)).checked is state


async def test_disabled_elements_ignore_taps() -> None:
    device = await started(FORM)
    assert not (await element(device, "go")).enabled
    await device.view.tap(await element(device, "go"))
    assert (await shown(device))[0] == "Form"
    await device.view.tap(await element(device, "on"))
    await device.view.tap(await element(device, "go"))
    assert (await shown(device))[0] == "Second"


async def test_taps_hit_the_innermost_element_that_reacts() -> None:
    device = await started(FORM)
    more = await element(device, "more")
    await device.view.tap(more)
    await device.view.tap(more, times=2)
    await device.view.long_press(more)
    assert "More 111" in await shown(device)
    await device.view.tap(await element(device, "del"))
    assert "More -1" in await shown(device)
    text = next(node for node in walk(await device.view.tree()) if node.text == "Ada")
    await device.view.tap(text)
    assert "More 7" in await shown(device)
    await device.view.tap(Point(-5, 10_000))
    assert "More 7" in await shown(device)


async def test_swipes_are_handled_by_the_element_before_the_screen() -> None:
    device = await started(FORM)
    middle = (await element(device, "row")).bounds.center
    await device.view.swipe(middle, Point(middle.x - 100, middle.y))
    assert "More -5" in await shown(device)
    await device.view.swipe(middle, Point(middle.x + 100, middle.y))
    assert "More 55" in await shown(device)
    await device.view.swipe(Point(100, 100), Point(100, 300))
    assert "More 99" in await shown(device)
    await device.view.swipe(Point(100, 100), Point(101, 102))
    assert "More 99" in await shown(device)


async def test_scrolling_reveals_elements_further_down() -> None:
    rows = "\n".join(f"      - {{type: row, elements: [{{type: text, text: Row {i}}}]}}" for i in range(30))
    device = await started(HEAD + "screens:\n  first:\n    elements:\n" + rows)
    assert "Row 29" not in await shown(device)
    for _ in range(10):
        await device.view.swipe(Point(180, 500), Point(180, 150))
    assert "Row 29" in await shown(device)
    assert "Row 0" not in await shown(device)


async def test_back_returns_to_the_previous_screen_and_then_leaves_the_app() -> None:
    device = await started(FORM)
    await device.app.open_link("test://second")
    await device.view.back()
    assert (await shown(device))[0] == "Form"
    await device.view.back()
    assert (await device.view.tree()).id == "home"
    for action in (device.view.back, device.view.hide_keyboard):
        await action()
    await device.app.open_link("test://second")
    assert (await shown(device))[0] == "Second"
    with pytest.raises(DeviceFailure, match="handles test://x"):
        await device.app.open_link("test://x")


async def test_state_survives_a_stop_until_it_is_cleared() -> None:
    device = await started(FORM)
    await device.view.type("Ada", await element(device, "name"))
    await device.app.stop()
    assert (await device.view.tree()).id == "home"
    await device.app.launch()
    assert (await element(device, "name")).text == "Ada"
    await device.app.launch(LaunchOptions(stop_first=False))
    await device.app.launch(LaunchOptions(clear_state=True))
    assert (await element(device, "name")).text == ""


async def test_other_apps_are_not_installed() -> None:
    device = await started(FORM)
    await device.app.launch(LaunchOptions(app_id="com.example.test"))
    with pytest.raises(
        DeviceFailure,
        match=r"com\.other is not installed: a simulated device has only the app under test, com\.example\.test",
    ):
        await device.app.launch(LaunchOptions(app_id="com.other"))


async def test_elements_have_the_attributes_of_their_platform() -> None:
    android = await element(await started(FORM), "go")
    assert android.attributes["class"] == "android.widget.Button"
    assert android.attributes["resource-id"] == "com.example.test:id/go"
    assert (android.attributes["enabled"], android.attributes["clickable"]) == ("false", "true")
    ios = await element(await started(FORM, platform="ios"), "go")
    assert ios.attributes["type"] == "XCUIElementTypeButton"
    assert (ios.attributes["name"], ios.attributes["label"]) == ("go", "Go")


async def test_a_screenshot_is_a_png_of_the_screen() -> None:
    device = await started(FORM)
    before = await device.view.screenshot()
    picture = Image.open(io.BytesIO(before))
    assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (360, 640))
    await device.app.open_link("test://second")
    assert await device.view.screenshot() != before


async def test_builds_without_an_app_model_run_the_built_in_app() -> None:
    info = DeviceInfo("sim-1", "ios", simulated=True)
    for artifact in (NO_BUILD, build("PK\x03\x04 an archive")):
        device = SimulatedDevice(info, artifact, Seed("run", 1))
        await device.app.install(artifact)
        await device.app.launch(LaunchOptions(app_id="any.id.will.do"))
        assert (await device.view.tree()).id == "log_in"


async def test_a_malformed_app_model_is_an_invalid_artifact() -> None:
    with fails(Category.ARTIFACT_INVALID, "line 2, column 1"):
        await started("app_model: 1\nbad: 1")


async def test_a_failure_to_read_the_artifact_keeps_its_category() -> None:
    async def read(limit: int) -> bytes:
        raise DeviceFailure(Category.NETWORK_ERROR, "no catalog")

    device = SimulatedDevice(DeviceInfo("s", "ios", simulated=True), NO_BUILD, Seed("r", 1))
    with pytest.raises(DeviceFailure, match="no catalog"):
        await device.app.install(AppUnderTest(read=read))


async def test_a_closed_device_has_no_app() -> None:
    device = await started(FORM)
    await device.close()
    await device.close()
    assert (await device.view.tree()).id == "home"


async def test_filled_texts_are_bounded() -> None:
    """Forty doublings of eight characters would be eight terabytes."""
    device = await started(
        HEAD
        + """
state: {a: "12345678"}
screens:
  first:
    title: "{a}{a}"
    elements: [{type: button, id: more, text: "{a}{a}{a}", tap: {set: {a: "{a}{a}"}}}]
"""
    )
    for _ in range(40):
        (button,) = (each for each in walk(await device.view.tree()) if each.id.endswith("more"))
        await device.view.tap(button)
    assert max(len(each.text) for each in walk(await device.view.tree())) == FILLED_LIMIT


async def test_a_field_takes_a_limited_number_of_characters() -> None:
    device = await started(FORM)
    (name,) = (each for each in walk(await device.view.tree()) if each.id.endswith("name"))
    for _ in range(5):
        await device.view.type("x" * 9_000, name)
    assert max(len(each.text) for each in walk(await device.view.tree())) == 20_000


async def test_a_device_knows_whether_its_app_is_the_built_in_model() -> None:
    info = DeviceInfo("s", "android", simulated=True)
    app_file = SimulatedDevice(info, build("PK"), Seed("r", 1))
    assert app_file.info.built_in_model is None
    await app_file.app.launch()
    model = await started(f"{HEAD}screens: {{first: {{}}}}")
    assert (app_file.info.built_in_model, model.info.built_in_model) == (True, False)


HASTY = (
    HEAD
    + """
state: {name: "", code: "", pin: ""}
screens:
  first:
    elements:
      - {type: field, id: name, label: Name, bind: name, loses: 0.1}
      - {type: field, id: code, label: Code, bind: code, max_length: 4}
      - {type: password, id: pin, label: PIN, bind: pin}
"""
)


async def test_a_field_loses_characters_repeatably_and_takes_a_limited_number() -> None:
    held = set()
    for run_id in "abc" * 2:
        device = await started(HASTY, run_id=run_id)
        await device.view.type("abcdefghijklmnopqrst", await element(device, "name"))
        held.add(await device.view.field_text())
    assert len(held) == 3
    assert all(text and 10 < len(text) <= 20 for text in held)
    await device.view.type("12345", await element(device, "code"))
    assert await device.view.field_text() == "1234"
    await device.view.tap(await element(device, "name"))
    assert (await device.view.field_text(), await device.view.field_text(focused=True)) == ("1234", None)
    await device.view.type("12345", await element(device, "pin"))
    assert await device.view.field_text() is None


async def test_lost_characters_are_typed_again_or_fail_the_step() -> None:
    """Of 40 runs, those whose step passes have the whole text, or say that the field takes no more of it."""
    ends = Counter[str]()
    steps = ["Launch the app", 'Type "GraceHopper" into "Name"', '"Name" has the value "GraceHopper"']
    for number in range(40):
        device = SimulatedDevice(DeviceInfo("sim-1", "android", simulated=True), build(HASTY), Seed(f"run {number}", 1))
        result = await run(device, *steps, build=build(HASTY))
        said = result.steps[1].message
        assert result.failure is None or result.failure.step_index == 1 or "it takes no more of the text" in said
        ends["failed" if result.failure else "again" if "typed again" in said else "once"] += 1
    assert set(ends) == {"once", "again", "failed"}
