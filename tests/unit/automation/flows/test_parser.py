"""Steps are read from JSON and from YAML with the same meaning."""

from mobiletest_automation.flows.app_commands import LaunchApp, StopApp
from mobiletest_automation.flows.assertion_commands import AssertNotVisible, AssertVisible
from mobiletest_automation.flows.capture_commands import TakeScreenshot
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.patterns import Pattern
from mobiletest_automation.flows.selectors import Condition, Selector
from mobiletest_automation.flows.steps import Repeat, Retry, RunFlow, Sentence, Step
from mobiletest_automation.flows.text_commands import Back, EraseText
from mobiletest_automation.flows.touch_commands import Scroll, TapOn


def only(value: object) -> Step:
    (step,) = parse_flow([value]).steps
    return step


def text(source: str) -> Selector:
    return Selector(text=Pattern(source))


def test_plain_text_is_a_sentence() -> None:
    step = only('  Tap "Log in"  ')
    assert (step.command, step.name, step.title) == (Sentence('Tap "Log in"'), "sentence", 'Tap "Log in"')


def test_commands_without_arguments_can_be_a_single_word() -> None:
    flow = parse_flow(["launchApp", "stopApp", "back", "scroll", "eraseText", "takeScreenshot"])
    commands = [step.command for step in flow.steps]
    assert commands == [LaunchApp(), StopApp(), Back(), Scroll(), EraseText(50), TakeScreenshot()]
    assert only({"back": None}).command == only({"back": {}}).command == Back()


def test_selectors() -> None:
    assert only({"tapOn": "Log in"}).command == TapOn(text("Log in"))
    assert only({"tapOn": 5}).command == TapOn(text("5"))
    written = {
        "id": "row.*",
        "index": "2",
        "enabled": True,
        "checked": False,
        "focused": False,
        "selected": True,
        "below": "A",
        "above": {"id": "b"},
        "leftOf": "C",
        "rightOf": "D",
        "childOf": {"text": "E", "index": 0},
        "containsChild": "F",
    }
    assert only({"assertVisible": written}).command == AssertVisible(
        Selector(
            id=Pattern("row.*"),
            index=2,
            enabled=True,
            checked=False,
            focused=False,
            selected=True,
            below=text("A"),
            above=Selector(id=Pattern("b")),
            left_of=text("C"),
            right_of=text("D"),
            child_of=Selector(text=Pattern("E"), index=0),
            contains_child=text("F"),
        )
    )
    assert only({"assertNotVisible": {"text": "Error"}}).command == AssertNotVisible(text("Error"))


def test_commands_that_hold_steps() -> None:
    flow = only({"runFlow": {"when": {"visible": "Allow", "platform": "iOS"}, "commands": ["Tap Allow"]}})
    assert isinstance(flow.command, RunFlow)
    assert flow.command.when == Condition(visible=text("Allow"), platform="ios")
    assert [step.path for step in flow.command.commands] == ["steps[0].runFlow.commands[0]"]
    repeat = only({"repeat": {"times": 3, "while": {"notVisible": "End"}, "commands": ["scroll"]}}).command
    assert isinstance(repeat, Repeat)
    assert (repeat.times, repeat.condition) == (3, Condition(not_visible=text("End")))
    retry = only({"retry": {"commands": [{"retry": {"maxRetries": 0, "commands": ["back"]}}]}}).command
    assert isinstance(retry, Retry)
    assert retry.max_retries == 1
    inner = retry.commands[0].command
    assert isinstance(inner, Retry)
    assert inner.max_retries == 0


def test_labels_and_optional_steps() -> None:
    step = only({"tapOn": {"text": "Later", "label": "Close the banner", "optional": True}})
    assert (step.title, step.optional) == ("Close the banner", True)
    assert only({"repeat": {"times": 1, "commands": ["back"], "label": "Twice"}}).title == "Twice"


def test_titles_describe_commands() -> None:
    titles = {
        'tapOn: "Log in"': {"tapOn": "Log in"},
        'tapOn: id "a", index 1, not enabled, below ("B")': {
            "tapOn": {"id": "a", "index": 1, "enabled": False, "below": "B"}
        },
        'inputText: "x"': {"inputText": "x"},
        "eraseText: 3 characters": {"eraseText": 3},
        "swipe: left": {"swipe": {"direction": "left"}},
        "swipe: from point to point": {"swipe": {"start": "1,2", "end": "3,4"}},
        'extendedWaitUntil: visible "A", not visible "B"': {"extendedWaitUntil": {"visible": "A", "notVisible": "B"}},
        "takeScreenshot: home": {"takeScreenshot": "home"},
        "repeat: 2 times": {"repeat": {"times": 2, "commands": ["back"]}},
        "repeat: while": {"repeat": {"while": {"visible": "A"}, "commands": ["back"]}},
        "retry: up to 2 times": {"retry": {"maxRetries": 2, "commands": ["back"]}},
        "launchApp: com.a": {"launchApp": "com.a"},
        "back": "back",
    }
    assert {title: only(value).title for title, value in titles.items()} == {title: title for title in titles}
