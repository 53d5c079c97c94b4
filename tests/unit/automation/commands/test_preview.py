"""Previews of commands."""

from typing import Any

import pytest

from mobiletest_automation.commands.executor import preview_step
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.screen.elements import Bounds, Element, Role


def button(text: str, y: float, **more: Any) -> Element:
    return Element(role=Role.BUTTON, text=text, bounds=Bounds(0, y, 100, 20), **more)


FIRST, SECOND = button("Add", 40, id="first"), button("Add", 80, id="second")
FIELD = Element(role=Role.FIELD, id="name", focused=True, bounds=Bounds(0, 0, 100, 20))
SCREEN = Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), children=(FIELD, FIRST, SECOND))


def preview(step: object, screen: Element = SCREEN) -> tuple[str, str, str | None, str | None]:
    """The action, the id of the element, the value and the reason."""
    (parsed,) = parse_flow([step]).steps
    shown = preview_step(parsed.command, screen)
    return shown.action, shown.element.id if shown.element else "-", shown.value, shown.reason


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        ("Tap the second Add button", ("tap", "second", None, None)),
        ({"tapOn": {"id": "second"}}, ("tap", "second", None, None)),
        ({"tapOn": {"text": "Add", "index": 1}}, ("tap", "second", None, None)),
        ({"tapOn": "Add"}, ("tap", "first", None, None)),
        ({"tapOn": "Remove"}, ("none", "-", None, "not_found")),
        ({"tapOn": {"point": "50%,50%"}}, ("tap", "-", "50%, 50%", None)),
        ({"doubleTapOn": {"id": "first"}}, ("double_tap", "first", None, None)),
        ({"longPressOn": {"id": "first"}}, ("long_press", "first", None, None)),
        ({"inputText": "Ada"}, ("type", "name", "Ada", None)),
        ({"eraseText": 3}, ("clear", "name", None, None)),
        ("pasteText", ("type", "name", None, None)),
        ({"copyTextFrom": {"id": "first"}}, ("copy_text", "first", None, None)),
        ({"assertVisible": "Add"}, ("assert_visible", "first", None, None)),
        ({"assertVisible": "Later"}, ("assert_visible", "-", None, None)),
        ({"assertNotVisible": "Later"}, ("assert_not_visible", "-", None, None)),
        ({"extendedWaitUntil": {"visible": "Add", "timeout": 500}}, ("wait_for", "first", None, None)),
        ({"extendedWaitUntil": {"notVisible": "Add", "timeout": 500}}, ("assert_not_visible", "first", None, None)),
        ({"scrollUntilVisible": {"element": "Add", "direction": "UP"}}, ("scroll_until_visible", "first", "up", None)),
        ({"swipe": {"direction": "LEFT"}}, ("swipe", "-", "left", None)),
        ({"swipe": {"start": "10%,50%", "end": "90%,50%"}}, ("swipe", "-", "10%, 50% to 90%, 50%", None)),
        ({"swipe": {"from": {"id": "first"}, "direction": "UP"}}, ("swipe", "first", "up", None)),
        ("scroll", ("scroll", "-", "down", None)),
        ("back", ("back", "-", None, None)),
        ({"pressKey": "back"}, ("back", "-", None, None)),
        ({"pressKey": "Enter"}, ("press_key", "-", "enter", None)),
        ("hideKeyboard", ("hide_keyboard", "-", None, None)),
        ("launchApp", ("launch_app", "-", None, None)),
        ({"launchApp": "com.shop"}, ("launch_app", "-", "com.shop", None)),
        ("stopApp", ("stop_app", "-", None, None)),
        ("clearState", ("clear_state", "-", None, None)),
        ({"openLink": "shop://cart"}, ("open_link", "-", "shop://cart", None)),
        ("inputRandomEmail", ("type", "name", None, None)),
        ({"takeScreenshot": {"path": "cart", "cropOn": {"id": "first"}}}, ("screenshot", "first", "cart", None)),
        ({"assertScreenshot": {"path": "a", "cropOn": {"id": "first"}}}, ("assert_screenshot", "first", "a", None)),
        ({"startRecording": "cart"}, ("start_recording", "-", "cart", None)),
        ("stopRecording", ("stop_recording", "-", None, None)),
        ({"assertScreenshot": "cart"}, ("assert_screenshot", "-", "cart", None)),
        ({"assertWithAI": "It is free"}, ("assert_with_ai", "-", "It is free", None)),
        ("assertNoDefectsWithAI", ("assert_no_defects_with_ai", "-", None, None)),
        ({"extractTextWithAI": "the price"}, ("extract_text", "-", "the price", None)),
        ({"takeScreenshot": "cart"}, ("screenshot", "-", "cart", None)),
        ({"assertTrue": "true"}, ("assert_true", "-", "true", None)),
        ("waitForAnimationToEnd", ("wait_until_still", "-", None, None)),
        ({"setDarkMode": "disabled"}, ("set_dark_mode", "-", "off", None)),
        ("toggleAirplaneMode", ("set_airplane_mode", "-", None, None)),
        ("assertDarkMode", ("assert_dark_mode", "-", "on", None)),
        ("killApp", ("kill_app", "-", None, None)),
        ({"addMedia": ["a.png", "b.gif"]}, ("add_media", "-", "a.png, b.gif", None)),
        ({"travel": {"points": ["1,2", "3,4"], "speed": 1000}}, ("travel", "-", "2 points at 1000 m/s", None)),
        ({"setLocation": {"latitude": 52.5, "longitude": 13.4}}, ("set_location", "-", "52.5, 13.4", None)),
    ],
    ids=str,
)
def test_preview_of_each_command(step: object, answer: tuple[str, str, str | None, str | None]) -> None:
    assert preview(step) == answer


def test_the_first_match_is_used_and_all_are_listed() -> None:
    (step,) = parse_flow([{"tapOn": "Add"}]).steps
    shown = preview_step(step.command, SCREEN)
    assert [element.id for element in shown.candidates] == ["first", "second"]
    assert "2 elements match" in shown.message


def test_preview_of_typing_says_when_no_field_has_the_focus() -> None:
    (step,) = parse_flow([{"inputText": "Ada"}]).steps
    shown = preview_step(step.command, Element(role=Role.SCREEN))
    assert (shown.action, shown.element) == ("type", None)
    assert "tap a field first" in shown.message
