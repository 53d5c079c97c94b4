"""What commands do on a device, and the messages of their steps."""

import io
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from PIL import Image

from services.executor.automation.attempt import AttemptRequest, AttemptRunner
from services.executor.automation.commands.swipes import visible_share
from services.executor.automation.devices.port import DeviceFailure
from services.executor.automation.devices.stability import pictures_match
from services.executor.automation.screen.elements import Bounds, Element, Point, Role
from services.executor.model.attempts import AttemptResult, Resolution
from services.executor.model.failures import Category
from services.executor.model.run_config import FallbackTrigger, RunConfig
from tests.fakes.devices import FakeDevice, FakeDevices, button, screen

BUTTON = Bounds(100, 200, 80, 40)


async def run(device: FakeDevice, *steps: object, platform: str = "android") -> AttemptResult:
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    plan = AttemptRequest(run_id="r", attempt=1, platform=platform, steps=list(steps), config=config, step_seconds=5)
    return await AttemptRunner(FakeDevices(device)).run(plan)


def pay(**fields: Any) -> Element:
    return button("Pay", bounds=BUTTON, **fields)


@pytest.mark.parametrize(
    ("step", "asked", "action"),
    [
        ({"tapOn": "Pay"}, ["tap Pay"], "tap"),
        ({"tapOn": {"text": "Pay", "repeat": 3, "delay": 50}}, ["tap Pay"] * 3, "tap"),
        ({"tapOn": {"point": "50%, 25%"}}, ["tap 180,160"], "tap"),
        ({"tapOn": {"point": "20, 30"}}, ["tap 20,30"], "tap"),
        ({"tapOn": {"text": "Pay", "point": "50%, 100%"}}, ["tap 140,240"], "tap"),
        ({"tapOn": {"text": "Pay", "point": "5, 6"}}, ["tap 105,206"], "tap"),
        ({"doubleTapOn": "Pay"}, ["double_tap Pay"], "double_tap"),
        ({"doubleTapOn": {"point": "1,2"}}, ["double_tap 1,2"], "double_tap"),
        ({"longPressOn": {"id": "pay"}}, ["long_press Pay 1"], "long_press"),
        ({"inputText": "Ada"}, ["type Ada"], "type"),
        ({"eraseText": 4}, ["clear 4"], "clear"),
        ({"pressKey": "Enter"}, ["press enter"], "press_key"),
        ({"pressKey": "Back"}, ["back"], "back"),
        ("back", ["back"], "back"),
        ("hideKeyboard", ["hide keyboard"], "hide_keyboard"),
        ("scroll", ["swipe 180,480 180,160"], "scroll"),
        ({"swipe": {"direction": "LEFT", "duration": 900}}, ["swipe 324,320 36,320"], "swipe"),
        ({"scrollUntilVisible": {"element": "Pay"}}, [], "scroll_until_visible"),
        ({"assertTrue": "${1 < 2}"}, [], "assert_true"),
        ({"stopApp": "com.other"}, ["stop com.other"], "stop_app"),
        ("clearState", ["clear_state"], "clear_state"),
        ({"clearState": {"appId": "com.other"}}, ["clear_state com.other"], "clear_state"),
        ({"openLink": "shop://cart"}, ["open shop://cart"], "open_link"),
        ({"setLocation": {"latitude": 52.5, "longitude": "-4"}}, ["location 52.5,-4"], "set_location"),
        ({"setOrientation": "LANDSCAPE_LEFT"}, ["orientation landscape"], "set_orientation"),
        ({"launchApp": {"permissions": {"camera": "Deny"}, "arguments": {"n": 2, "on": True}}},
         ["launch camera=deny n=2 on=True"], "launch_app"),
        ({"launchApp": {"appId": "com.other", "clearState": True, "stopApp": False}},
         ["launch com.other clear resume"], "launch_app"),
        ({"launchApp": {"clearKeychain": True}}, ["launch"], "launch_app"),
    ],
)  # fmt: skip
async def test_a_command_calls_the_device(step: object, asked: list[str], action: str) -> None:
    device = FakeDevice(screen(pay(id="pay")))
    result = await run(device, "back", step)
    assert result.failure is None
    assert device.done == ["install", "launch", "back", *asked]
    assert (result.steps[1].action, result.steps[1].resolution) == (action, Resolution.COMMAND)


@pytest.mark.parametrize(
    "step",
    [
        {"assertNotVisible": "(a|b)*a[ab]{300}"},
        {"runFlow": {"when": {"notVisible": "(a|b)*a[ab]{300}"}, "commands": ["back"]}},
    ],
)
async def test_a_selector_that_takes_too_long_is_neither_visible_nor_absent(step: object) -> None:
    chance = Random(str(step))  # other texts than in the other case: answers for a text are cached
    texts = [Element(role=Role.TEXT, text="".join(chance.choices("ab", k=400))) for _ in range(200)]
    result = await run(FakeDevice(screen(*texts)), step)
    assert result.failure is not None
    assert (result.failure.category, "takes too long" in result.failure.message) == (Category.SCRIPT_ERROR, True)


async def test_the_apps_of_a_flow_are_the_app_under_test() -> None:
    device = FakeDevice()
    configuration = {"appId": {"android": "com.shop", "ios": "com.shop.ios"}}
    await run(device, configuration, {"launchApp": "com.shop"}, {"stopApp": "com.shop.ios"}, {"stopApp": "com.mail"})
    assert device.done == ["install", "launch", "stop", "stop com.mail"]


async def test_a_keychain_that_cannot_be_cleared_fails_the_step() -> None:
    failure = (await run(FakeDevice(), {"launchApp": {"clearKeychain": True}}, platform="ios")).failure
    assert failure is not None
    assert (failure.category, "keychain" in failure.message) == (Category.SCRIPT_ERROR, True)


class Changing(FakeDevice):
    """Each tap shows the next of its screens."""

    def __init__(self, screens: Sequence[Element]) -> None:
        super().__init__(screens[0])
        self._screens = list(screens)

    async def tap(self, target: Element | Point) -> None:
        await super().tap(target)
        self._screens = self._screens[1:] or self._screens
        self.show = self._screens[0]


@pytest.mark.parametrize(
    ("screens", "taps", "message"),
    [
        ([screen(pay()), screen(pay(), button("Paid"))], 1, ""),
        ([screen(pay())] * 2 + [screen(pay(), button("Paid"))], 2,
         "the screen did not change, so the tap was repeated: then it changed"),
        ([screen(pay())], 2, "the screen did not change, so the tap was repeated: it stayed the same"),
    ],
)  # fmt: skip
async def test_a_tap_without_effect_is_repeated_once_if_configured(
    screens: list[Element], taps: int, message: str
) -> None:
    device = Changing(screens)
    result = await run(device, {"tapOn": {"text": "Pay", "retryTapIfNoChange": True}})
    assert result.failure is None
    assert (device.done.count("tap Pay"), result.steps[0].message) == (taps, message)
    plain = Changing(screens)
    await run(plain, {"tapOn": "Pay"})
    assert plain.done.count("tap Pay") == 1


async def test_copied_text_is_pasted_and_is_a_variable() -> None:
    total = Element(role=Role.TEXT, text="$12.50", id="total")
    device = FakeDevice(screen(total, Element(role=Role.FIELD, label="Empty", hint="nothing")))
    steps = [{"copyTextFrom": {"id": "total"}}, "pasteText", {"inputText": "was ${maestro.copiedText}"},
             {"assertVisible": "${maestro.copiedText}"}]  # fmt: skip
    result = await run(device, *steps)
    assert result.failure is None
    assert device.done[2:] == ["type $12.50", "type was $12.50"]
    assert [step.message for step in result.steps[:2]] == ['copied "$12.50"', 'pasted "$12.50"']
    failure = (await run(device, {"copyTextFrom": "nothing"})).failure
    assert failure is not None
    assert "has no text to copy" in failure.message


class Scrolling(FakeDevice):
    """A long page: each swipe up moves everything up by 200, but no further than its end."""

    def __init__(self, *elements: Element, end: float = 2000) -> None:
        super().__init__()
        self._elements = elements
        self._end = end
        self.offset = 0.0
        self.show = self._page()

    async def swipe(self, start: Point, end: Point, seconds: float = 0.4) -> None:
        await super().swipe(start, end, seconds)
        self.done[-1] += f" {seconds:g}"
        self.offset = min(max(self.offset + start.y - end.y, 0), self._end)
        self.show = self._page()

    def _page(self) -> Element:
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
        640,
        ["swipe 180,480 180,160 0.401"] * 2,
    )
    partly = Scrolling(button("Help", bounds=Bounds(0, 900, 100, 300)))
    assert (await run(partly, {"scrollUntilVisible": {"element": "Help", "visibilityPercentage": 10}})).failure is None
    assert partly.offset == 320


async def test_a_partly_visible_element_is_reported_with_its_share() -> None:
    device = Scrolling(button("Help", bounds=Bounds(0, 600, 100, 100)), end=20)
    step = {"scrollUntilVisible": {"element": "Help", "timeout": 3000}}
    failure = (await run(device, step)).failure
    assert failure is not None
    assert failure.category is Category.ELEMENT_NOT_FOUND
    assert '"Help" (60% of it was visible, 100% is required)' in failure.message
    nowhere = (await run(Scrolling(), step)).failure
    assert nowhere is not None
    assert nowhere.message.startswith('"Help" was not found within 3 s')


async def test_scrolling_centers_the_element_if_configured() -> None:
    device = Scrolling(button("Help", bounds=Bounds(0, 550, 100, 50)))
    result = await run(device, {"scrollUntilVisible": {"element": "Help", "centerElement": True}})
    assert result.failure is None
    assert device.offset == 255
    top = Scrolling(button("Help", bounds=Bounds(0, 300, 100, 50)))
    await run(top, {"scrollUntilVisible": {"element": "Help", "centerElement": True}})
    assert top.offset == 0


@pytest.mark.parametrize(
    ("bounds", "share"),
    [(Bounds(0, 0, 10, 10), 1), (Bounds(-5, 0, 10, 10), 0.5), (Bounds(95, 95, 10, 10), 0.25), (Bounds(200, 0, 9, 9), 0),
     (Bounds(0, 0, 0, 0), 1)],
)  # fmt: skip
def test_visible_share(bounds: Bounds, share: float) -> None:
    assert visible_share(Bounds(0, 0, 100, 100), bounds) == share


def png(paint: Callable[[Image.Image], object]) -> bytes:
    picture = Image.new("RGB", (360, 640), "white")
    paint(picture)
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


WHITE = png(lambda picture: None)
CURSOR = png(lambda picture: picture.paste("black", (100, 100, 104, 130)))
OTHER = png(lambda picture: picture.paste("black", (0, 0, 360, 200)))


def test_screenshots_match_despite_a_blinking_cursor() -> None:
    assert pictures_match(WHITE, CURSOR)
    assert not pictures_match(WHITE, OTHER)
    assert not pictures_match(b"no picture", WHITE)


class Moving(FakeDevice):
    """Its screenshots differ until a time."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self._until = until
        self._taken = 0

    async def screenshot(self) -> bytes:
        self._taken += 1
        return OTHER if self.timer.now() < self._until and self._taken % 2 else WHITE


async def test_waiting_for_an_animation_is_bounded() -> None:
    device = Moving(2)
    result = await run(device, "waitForAnimationToEnd")
    assert (result.failure, result.steps[0].message) == (None, "")
    assert 2 <= device.timer.now() <= 3
    endless = await run(Moving(1000), {"waitForAnimationToEnd": {"timeout": 4000}})
    assert (endless.failure, endless.steps[0].message) == (None, "the screen was still moving after 4 s")


@pytest.mark.parametrize("call", ["clear_state", "location", "orientation", "press", "open"])
async def test_an_unsupported_action_is_the_failure(call: str) -> None:
    device = FakeDevice()
    device.failing[call] = DeviceFailure(Category.SCRIPT_ERROR, "not here")
    steps = ["clearState", {"setLocation": {"latitude": 1, "longitude": 2}}, {"setOrientation": "landscape"},
             {"pressKey": "lock"}, {"openLink": "a://b"}]  # fmt: skip
    failure = (await run(device, *steps)).failure
    assert failure is not None
    assert (failure.category, failure.message) == (Category.SCRIPT_ERROR, "not here")
