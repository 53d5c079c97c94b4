"""What commands do on a device, and the messages of their steps."""

from collections.abc import Sequence
from random import Random

import pytest

from mobiletest_automation.devices.port import DeviceInfo
from mobiletest_automation.flows.device_commands import GeoPoint
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.screen.elements import Element, Point, Role
from tests.fakes.devices import FakeDevice, button, screen
from tests.unit.automation.attempts import SentFiles, failure_of, pay, run


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
        ({"longPressOn": {"id": "pay"}}, ["long_press Pay 3"], "long_press"),
        ({"inputText": "Ada"}, ["type Ada"], "type"),
        ({"eraseText": 4}, ["clear 4"], "clear"),
        ({"pressKey": "Enter"}, ["press enter"], "press_key"),
        ({"pressKey": "Back"}, ["back"], "back"),
        ("back", ["back"], "back"),
        ("hideKeyboard", ["hide keyboard"], "hide_keyboard"),
        ("scroll", ["swipe 180,320 180,64"], "scroll"),
        ({"swipe": {"direction": "LEFT", "duration": 900}}, ["swipe 324,320 36,320"], "swipe"),
        ({"scrollUntilVisible": {"element": "Pay"}}, [], "scroll_until_visible"),
        ({"assertTrue": "${1 < 2}"}, [], "assert_true"),
        ({"stopApp": "com.other"}, ["stop com.other"], "stop_app"),
        ("clearState", ["clear_state"], "clear_state"),
        ({"clearState": {"appId": "com.other"}}, ["clear_state com.other"], "clear_state"),
        ({"openLink": "shop://cart"}, ["open shop://cart"], "open_link"),
        ({"setLocation": {"latitude": 52.5, "longitude": "-4"}}, ["location 52.5,-4"], "set_location"),
        ({"setOrientation": "LANDSCAPE_LEFT"}, ["orientation landscape_left"], "set_orientation"),
        ({"openBrowser": "https://a.b"}, ["open https://a.b in browser"], "open_browser"),
        ({"setAirplaneMode": "Enabled"}, ["airplane_mode True"], "set_airplane_mode"),
        ("toggleAirplaneMode", ["airplane_mode True"], "set_airplane_mode"),
        ({"setDarkMode": {"value": "disabled"}}, ["dark_mode False"], "set_dark_mode"),
        ("toggleDarkMode", ["dark_mode True"], "set_dark_mode"),
        ("assertLightMode", [], "assert_dark_mode"),
        ({"killApp": "com.other"}, ["kill com.other"], "kill_app"),
        ("clearKeychain", ["clear_keychain"], "clear_keychain"),
        ({"setPermissions": {"permissions": {"a": "always"}}}, ["permissions a=always"], "set_permissions"),
        ({"action": "hideKeyboard"}, ["hide keyboard"], "hide_keyboard"),
        ("hide keyboard", ["hide keyboard"], "hide_keyboard"),
        ({"openLink": {"link": "https://a.b", "browser": True}}, ["open https://a.b in browser"], "open_link"),
        ({"openLink": {"link": "https://a.b", "autoVerify": True}}, ["open https://a.b in own app"], "open_link"),
        ({"swipe": {"direction": "LEFT", "from": {"id": "pay", "point": "75%,25%"}}},
         ["swipe 160,210 36,210"], "swipe"),
        ({"swipe": {"direction": "DOWN", "from": {"id": "pay", "point": "5, 6"}}}, ["swipe 105,206 105,576"], "swipe"),
        ({"swipe": {"direction": "UP", "from": "Pay"}}, ["swipe 140,220 140,64"], "swipe"),
        ({"launchApp": {"permissions": {"camera": "Deny"}, "arguments": {"n": 2, "on": True}}},
         ["launch camera=deny n=2 on=True"], "launch_app"),
        ({"launchApp": {"appId": "com.other", "clearState": True, "stopApp": False}},
         ["launch com.other clear resume"], "launch_app"),
        ({"launchApp": {"clearKeychain": True}}, ["clear_keychain", "launch"], "launch_app"),
    ],
)  # fmt: skip
async def test_a_command_calls_the_device(step: object, asked: list[str], action: str) -> None:
    device = FakeDevice(screen(pay(id="pay")))
    result = await run(device, "back", step)
    assert result.failure is None
    assert device.done == ["install", "back", *asked]
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
    assert failure_of(result).category is Category.SCRIPT_ERROR
    assert "takes too long" in failure_of(result).message


class Browser(FakeDevice):
    """A page whose button matches every CSS selector that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.info = DeviceInfo("browser-1", "android", simulated=False, browser=True)
        self.asked: set[str] = set()

    async def tree(self, css: frozenset[str] = frozenset()) -> Element:
        self.asked |= css
        self.show = screen(pay(css=css))
        return await super().tree()


async def test_a_browser_is_asked_for_the_css_selectors_of_each_command() -> None:
    browser = Browser()
    inner = {"runFlow": {"when": {"visible": {"css": ".banner"}}, "commands": [{"tapOn": {"css": "button.${NAME}"}}]}}
    result = await run(browser, {"env": {"NAME": "pay"}}, inner, {"assertNotVisible": {"id": "gone"}})
    assert result.failure is None
    assert browser.done == ["install", "tap Pay"]
    assert browser.asked == {".banner", "button.pay"}


@pytest.mark.parametrize(
    "step",
    [
        {"tapOn": {"css": "#pay"}},
        {"assertVisible": {"text": "Pay", "below": {"css": "#${ID}"}}},
        {"runFlow": {"when": {"notVisible": {"css": "#pay"}}, "commands": ["back"]}},
        {"repeat": {"times": 2, "while": {"platform": "Android", "visible": {"css": "#pay"}}, "commands": ["back"]}},
        {"runScript": {"script": "output.a = 1", "when": {"visible": {"css": "#pay"}}}},
    ],
)
async def test_css_on_a_phone_is_a_wrong_configuration_before_the_first_step(step: object) -> None:
    device = FakeDevice(screen(pay()))
    result = await run(device, "back", step)
    assert (failure_of(result).category, device.done) == (Category.CONFIG_INVALID, [])
    assert "css selects elements of web pages" in failure_of(result).message


@pytest.mark.parametrize(
    "when",
    [
        {"platform": "Web"},
        {"platform": "web", "visible": {"css": ".a"}},
        {"true": "${false}", "visible": {"css": ".a"}},
    ],
)
async def test_css_for_browsers_alone_does_not_stop_a_phone(when: object) -> None:
    device = FakeDevice(screen(pay()))
    steps = [
        {"runFlow": {"when": when, "commands": [{"tapOn": {"css": "#pay"}}]}},
        {"runScript": {"script": "output.a = 1", "when": when}},
        {"tapOn": "Pay"},
    ]
    result = await run(device, *steps)
    assert result.failure is None
    assert device.done == ["install", "tap Pay"]


async def test_a_condition_with_css_is_neither_true_nor_false_on_a_phone() -> None:
    when = {"true": "${1 == 1}", "notVisible": {"css": ".a"}}
    result = await run(FakeDevice(screen(pay())), {"runFlow": {"when": when, "commands": ["back"]}})
    assert (failure_of(result).category, "css" in failure_of(result).message) == (Category.SCRIPT_ERROR, True)


async def test_the_apps_of_a_flow_are_the_app_under_test() -> None:
    device = FakeDevice()
    configuration = {"appId": {"android": "com.shop", "ios": "com.shop.ios"}}
    await run(device, configuration, {"launchApp": "com.shop"}, {"stopApp": "com.shop.ios"}, {"stopApp": "com.mail"})
    assert device.done == ["install", "launch", "stop", "stop com.mail"]


async def test_the_id_of_a_flow_may_be_a_variable() -> None:
    device = FakeDevice()
    header = {"appId": "com.${NAME}", "env": {"NAME": "shop"}}
    await run(device, header, {"launchApp": "com.shop"}, {"stopApp": "com.${NAME}"}, {"stopApp": "com.till"})
    assert device.done == ["install", "launch", "stop", "stop com.till"]


async def test_dark_mode_is_checked_at_once() -> None:
    device = FakeDevice()
    steps = ["assertLightMode", "toggleDarkMode", "assertDarkMode", "toggleDarkMode", "assertDarkMode"]
    result = await run(device, "back", *steps)
    assert result.failure is not None
    assert (result.failure.category, result.failure.message) == (Category.ASSERTION_FAILED, "dark mode is off")
    assert (result.failure.step_index, device.timer.now()) == (5, 0)


@pytest.mark.parametrize(
    ("points", "speed", "count", "seconds"),
    [
        # A hundredth of a degree of latitude is 1,112 m: at 100 m/s eleven seconds, and as many points.
        (["1, 2", "1.01, 2"], {"speed": 100}, 12, 11.12),
        (["0,0", "0,0.01", "0,0"], {}, 101, 556),
    ],
)
async def test_a_journey_takes_its_time(points: list[str], speed: dict[str, int], count: int, seconds: float) -> None:
    """However long it is, it is no timeout."""
    device = FakeDevice()
    assert (await run(device, "back", {"travel": {"points": points, **speed}})).failure is None
    places = [each.removeprefix("location ") for each in device.done if each.startswith("location")]
    assert (places[0], places[-1], len(places)) == (points[0].replace(" ", ""), points[-1].replace(" ", ""), count)
    assert device.timer.now() == pytest.approx(seconds, rel=0.001)


def test_a_journey_takes_the_shorter_way_around_the_earth() -> None:
    start, end = GeoPoint(0, 179), GeoPoint(0, -179)
    assert start.distance(end) == pytest.approx(222_390, rel=1e-4)
    assert [start.between(end, share).longitude for share in (0, 0.25, 0.5, 1)] == [179, 179.5, 180, -179]


async def test_media_are_files_that_were_sent_along() -> None:
    device = FakeDevice()
    files = SentFiles({"media/cat.png": b"a", "dog.png": b"bc"})
    result = await run(device, "back", {"addMedia": ["media/cat.png", "dog.png"]}, files=files)
    assert result.failure is None
    assert device.done[-2:] == ["media cat.png 1", "media dog.png 2"]


@pytest.mark.parametrize("files", [None, SentFiles({"cat.png": b"a"})])
async def test_a_file_that_was_not_sent_along_is_missed_before_the_first_step(files: SentFiles | None) -> None:
    device = FakeDevice()
    failure = failure_of(await run(device, "back", {"addMedia": ["cat.png", "dog.png"]}, files=files))
    assert failure.category is Category.CONFIG_INVALID
    assert failure.message.startswith(
        f"steps[1].addMedia: the file {'dog' if files else 'cat'}.png was not sent along:"
    )
    assert device.done == []


async def test_a_missing_file_whose_name_has_variables_fails_its_step() -> None:
    step = {"runFlow": {"env": {"WHO": "cat"}, "commands": [{"addMedia": ["${WHO}.png"]}]}}
    failure = failure_of(await run(FakeDevice(), step))
    message = "the file cat.png was not sent along: import the folder of the flow with POST /tests/import"
    assert (failure.category, failure.message) == (Category.SCRIPT_ERROR, message)


class Changing(FakeDevice):
    """Each tap shows the next of its screens."""

    def __init__(self, screens: Sequence[Element]) -> None:
        super().__init__(screens[0])
        self._screens = list(screens)

    async def tap(self, target: Element | Point, *, times: int = 1) -> None:
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
    assert device.done[1:] == ["type $12.50", "type was $12.50"]
    assert [step.message for step in result.steps[:2]] == ['copied "$12.50"', 'pasted "$12.50"']


@pytest.mark.parametrize(
    ("field", "copied"),
    [
        ({"text": "12", "hint": "Amount", "label": "Sum"}, "12"),
        ({"hint": "Amount", "label": "Sum"}, "Amount"),
        ({"label": "Sum"}, "Sum"),
        ({}, ""),
    ],
)
async def test_an_element_without_a_text_gives_its_hint_or_label(field: dict[str, str], copied: str) -> None:
    device = FakeDevice(screen(Element(role=Role.FIELD, id="sum", **field)))  # type: ignore[arg-type]
    check = {"assertTrue": f"${{maestro.copiedText === '{copied}'}}"}
    result = await run(device, {"copyTextFrom": {"id": "sum"}}, check, "pasteText")
    assert (result.failure, device.done[1:]) == (None, [f"type {copied}"])
