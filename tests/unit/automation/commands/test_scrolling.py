"""Swipes and scrolling, and waiting until the screen is at rest."""

import pytest

from mobiletest_automation.devices.gestures import swipe
from mobiletest_automation.devices.port import DeviceInfo
from mobiletest_automation.devices.stability import pictures_match
from mobiletest_automation.devices.watcher import Watcher
from mobiletest_automation.model.failures import Category
from mobiletest_automation.screen.elements import Bounds, Element, Point
from tests.fakes.devices import FakeDevice, button, screen
from tests.unit.automation.attempts import failure_of, run
from tests.unit.automation.pictures import png


@pytest.mark.parametrize(
    ("direction", "start", "end"),
    [
        ("up", Point(50, 500), Point(50, 64)),
        ("up", Point(50, 30), Point(50, 1)),
        ("down", Point(50, 620), Point(50, 639)),
        ("left", Point(20, 300), Point(1, 300)),
        ("right", Point(20, 300), Point(324, 300)),
        ("right", Point(350, 300), Point(359, 300)),
    ],
)
async def test_a_swipe_from_a_point_never_turns_back(direction: str, start: Point, end: Point) -> None:
    device = FakeDevice()
    await swipe(device, Watcher(device), direction, start=start)
    assert device.done == [f"swipe {start.x:g},{start.y:g} {end.x:g},{end.y:g}"]


class Scrolling(FakeDevice):
    """A long page: each swipe up moves everything up by 200, but no further than its end."""

    def __init__(self, *elements: Element, end: float = 2000) -> None:
        super().__init__()
        self._elements = elements
        self._end = end
        self.offset = 0.0
        self.show = self.page()

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        await super().swipe(start, end, seconds)
        self.done[-1] += f" {seconds:g}"
        self.offset = min(max(self.offset + start.y - end.y, 0), self._end)
        self.show = self.page()

    def page(self) -> Element:
        placed = []
        for each in self._elements:
            box = each.bounds
            bounds = Bounds(box.x, box.y - self.offset, box.width, box.height)
            placed.append(button(each.text, bounds=bounds, visible=bounds.bottom > 0 and bounds.y < 640))
        return screen(*placed)


async def test_scrolling_ends_when_enough_is_visible() -> None:
    far = button("Help", bounds=Bounds(0, 900, 100, 100))
    device = Scrolling(far)
    result = await run(device, {"scrollUntilVisible": {"element": "Help", "speed": 60}})
    assert result.failure is None
    assert (device.offset, [each for each in device.done if each.startswith("swipe")]) == (
        512,
        ["swipe 180,320 180,64 0.401"] * 2,
    )
    partly = Scrolling(button("Help", bounds=Bounds(0, 900, 100, 300)))
    assert (await run(partly, {"scrollUntilVisible": {"element": "Help", "visibilityPercentage": 10}})).failure is None
    assert partly.offset == 512


async def test_a_partly_visible_element_is_reported_with_its_share() -> None:
    device = Scrolling(button("Help", bounds=Bounds(0, 600, 100, 100)), end=20)
    step = {"scrollUntilVisible": {"element": "Help", "timeout": 3000}}
    failure = failure_of(await run(device, step))
    assert failure.category is Category.ELEMENT_NOT_FOUND
    assert '"Help" (60% of it was visible, 100% is required)' in failure.message
    nowhere = (await run(Scrolling(), step)).failure
    assert nowhere is not None
    assert nowhere.message.startswith('"Help" was not found within 3 s')


@pytest.mark.parametrize(
    ("direction", "y", "offset", "moved"),
    [
        # Near the middle after one swipe: nothing more is done.
        ("DOWN", 600, 0, 256),
        # Past the middle already, however far.
        ("DOWN", 300, 0, 0),
        ("UP", 400, 450, -256),
        # It cannot be centered: five swipes, and then it counts where it is.
        ("DOWN", 500, 20, 0),
    ],
)
async def test_scrolling_brings_an_element_as_near_to_the_middle_as_maestro(
    direction: str, y: float, offset: float, moved: float
) -> None:
    device = Scrolling(button("Help", bounds=Bounds(0, y, 100, 50)), end=20 if moved == 0 else 2000)
    device.offset = offset
    device.show = device.page()
    step = {"scrollUntilVisible": {"element": "Help", "direction": direction, "centerElement": True}}
    assert (await run(device, step)).failure is None
    assert device.offset - offset == moved
    assert len([each for each in device.done if each.startswith("swipe")]) == (5 if offset == 20 else abs(moved) // 256)


@pytest.mark.parametrize(
    ("step", "platform", "path"),
    [
        ({"swipe": {"direction": "UP"}}, "android", "180,320 180,64 0.4"),
        ({"swipe": {"direction": "UP"}}, "ios", "180,576 180,64 0.4"),
        ({"swipe": {"direction": "DOWN"}}, "ios", "180,128 180,576 0.4"),
        ("scroll", "ios", "180,320 180,64 0.4"),
        ({"scrollUntilVisible": {"element": "Help", "direction": "DOWN"}}, "ios", "180,320 180,64 0.601"),
        ({"scrollUntilVisible": {"element": "Help", "direction": "UP"}}, "android", "180,320 180,576 0.601"),
        ({"scrollUntilVisible": {"element": "Help", "direction": "LEFT"}}, "android", "180,320 324,320 0.601"),
        ({"scrollUntilVisible": {"element": "Help", "direction": "RIGHT"}}, "android", "180,320 36,320 0.601"),
        ({"scrollUntilVisible": {"element": "Help", "speed": 100}}, "android", "180,320 180,64 0.001"),
        ({"scrollUntilVisible": {"element": "Help", "speed": 150}}, "android", "180,320 180,64 0.04"),
        ({"scrollUntilVisible": {"element": "Help", "speed": -50}}, "android", "180,320 180,64 1.501"),
    ],
    ids=str,
)
async def test_the_finger_moves_as_in_maestro(step: object, platform: str, path: str) -> None:
    device = Scrolling()
    device.info = DeviceInfo("phone-1", platform, simulated=False)
    if isinstance(step, dict) and "scrollUntilVisible" in step:
        step["scrollUntilVisible"]["timeout"] = 100
    await run(device, step)
    assert next(each for each in device.done if each.startswith("swipe")) == f"swipe {path}"


SIZE = (360, 640)
STILL = png(size=SIZE)
CURSOR = png(size=SIZE, paint=lambda picture: picture.paste("black", (100, 100, 104, 130)))
OTHER = png(size=SIZE, paint=lambda picture: picture.paste("black", (0, 0, 360, 200)))


def test_screenshots_match_despite_a_blinking_cursor() -> None:
    assert pictures_match(STILL, CURSOR)
    assert not pictures_match(STILL, OTHER)
    assert not pictures_match(b"no picture", STILL)


class Moving(FakeDevice):
    """Its screenshots differ until a time."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self._until = until
        self._taken = 0

    async def screenshot(self) -> bytes:
        self._taken += 1
        return OTHER if self.timer.now() < self._until and self._taken % 2 else STILL


async def test_waiting_for_an_animation_is_bounded() -> None:
    device = Moving(2)
    result = await run(device, "waitForAnimationToEnd")
    assert (result.failure, result.steps[0].message) == (None, "")
    assert 2 <= device.timer.now() <= 3
    endless = await run(Moving(1000), {"waitForAnimationToEnd": {"timeout": 4000}})
    assert (endless.failure, endless.steps[0].message) == (None, "the screen was still moving after 4 s")
