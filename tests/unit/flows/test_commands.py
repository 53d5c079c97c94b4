"""Each command with its arguments, and each wrong argument with the line and column where it is refused."""

from pathlib import Path

import pytest

from services.flows import commands
from services.flows.loader import parse_flow
from services.flows.nodes import DocumentError
from services.flows.parser import COMMANDS, fill_step
from services.flows.patterns import Pattern
from services.flows.selectors import Condition, Position, Selector
from services.flows.steps import Command, Repeat, Retry, RunFlow
from services.flows.variables import BuiltInVariables, Scope

PAY = Selector(text=Pattern("Pay"))


def read(text: str) -> Command:
    (step,) = parse_flow(f"- {text}").steps
    return step.command


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("launchApp: {permissions: {all: deny, camera: ALLOW}, arguments: {a: 1, b: true, c: x, d: 0.5}}",
         commands.LaunchApp(permissions=(("all", "deny"), ("camera", "allow")),
                           arguments=(("a", 1), ("b", True), ("c", "x"), ("d", 0.5)))),
        ("launchApp: {clearKeychain: true, label: x}", commands.LaunchApp(clear_keychain=True)),
        ("stopApp", commands.StopApp()),
        ("clearState", commands.ClearState()),
        ("clearState: com.a", commands.ClearState("com.a")),
        ("clearState: {appId: com.a, optional: true}", commands.ClearState("com.a")),
        ("tapOn: {point: '50%, 20%'}", commands.TapOn(point=Position(0.5, 0.2, True))),
        ("tapOn: {text: Pay, point: '5, 6'}", commands.TapOn(PAY, point=Position(5, 6, False))),
        ("tapOn: {text: Pay, repeat: 3, delay: 500}", commands.TapOn(PAY, times=3, pause_seconds=0.5)),
        ("tapOn: {text: Pay, retryTapIfNoChange: true, waitToSettleTimeoutMs: 250}",
         commands.TapOn(PAY, retry_if_no_change=True, settle_seconds=0.25)),
        ("doubleTapOn: Pay", commands.DoubleTapOn(PAY)),
        ("longPressOn: {text: Pay, optional: true}", commands.LongPressOn(PAY)),
        ("inputText: {text: x, label: y}", commands.InputText("x")),
        ("eraseText: {label: y}", commands.EraseText(50)),
        ("copyTextFrom: {text: Pay}", commands.CopyTextFrom(PAY)),
        ("setClipboard: x", commands.SetClipboard("x")),
        ("pasteText", commands.PasteText()),
        ("pasteText: {label: y}", commands.PasteText()),
        ("pressKey: Volume Up", commands.PressKey("volume up")),
        ("pressKey: {key: ENTER}", commands.PressKey("enter")),
        ("hideKeyboard", commands.HideKeyboard()),
        ("scroll: {label: x}", commands.Scroll()),
        ("swipe: {direction: UP, waitToSettleTimeoutMs: 100}", commands.Swipe(direction="up", settle_seconds=0.1)),
        ("scrollUntilVisible: {element: Pay}", commands.ScrollUntilVisible(selector=PAY, seconds=0.601)),
        ("scrollUntilVisible: {element: {text: Pay}, direction: LEFT, timeout: 5000, speed: 100,"
         " visibilityPercentage: 50, centerElement: true, waitToSettleTimeoutMs: 700}",
         commands.ScrollUntilVisible(selector=PAY, direction="left", timeout_seconds=5, seconds=0.001, share=0.5,
                                    centered=True, settle_seconds=0.7)),
        ("assertTrue: true", commands.AssertTrue("true")),
        ("assertTrue: {condition: 1}", commands.AssertTrue("1")),
        ("waitForAnimationToEnd", commands.WaitForAnimationToEnd(15)),
        ("waitForAnimationToEnd: {timeout: 500}", commands.WaitForAnimationToEnd(0.5)),
        ("takeScreenshot: {path: a/b}", commands.TakeScreenshot("a/b")),
        ("openLink: ' shop://x '", commands.OpenLink("shop://x")),
        ("openLink: {link: shop://x, browser: false}", commands.OpenLink("shop://x")),
        ("setLocation: {latitude: 52.5, longitude: '-4'}", commands.SetLocation(52.5, -4)),
        ("setOrientation: LANDSCAPE_RIGHT", commands.SetOrientation("landscape")),
        ("setOrientation: {orientation: portrait}", commands.SetOrientation("portrait")),
        ("assertVisible: {text: Pay, width: 10, height: '20', tolerance: 1.5}",
         commands.AssertVisible(Selector(text=Pattern("Pay"), width=10, height=20, tolerance=1.5))),
        ("assertVisible: {containsDescendants: [Pay, {text: Pay}]}",
         commands.AssertVisible(Selector(contains_descendants=(PAY, PAY)))),
    ],
)  # fmt: skip
def test_a_command_is_read_with_its_arguments(text: str, command: Command) -> None:
    assert read(text) == command


def test_an_inner_flow_has_conditions_and_variables() -> None:
    flow = read("runFlow: {when: {true: '1', platform: Android}, env: {A: 1, B: }, commands: [back]}")
    assert isinstance(flow, RunFlow)
    assert (flow.when, flow.env) == (Condition(platform="android", truth="1"), (("A", "1"), ("B", "")))
    repeat = read("repeat: {while: {true: x}, commands: [back]}")
    assert isinstance(repeat, Repeat)
    assert repeat.condition == Condition(truth="x")


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("launchApp: [a]", 12, "expected text, not a list"),
        ("launchApp: {permissions: {camera: maybe}}", 35, "expected one of allow, deny, unset"),
        ("launchApp: {permissions: all}", 26, "expected a mapping"),
        ("launchApp: {arguments: {a: [1]}}", 28, "expected text"),
        ("launchApp: {clearState: 1}", 25, "expected true or false"),
        ("launchApp: {appID: a}", 13, "did you mean appId?"),
        ("stopApp: {app: a}", 11, "did you mean appId?"),
        ("clearState: a b", 13, "the id of an app"),
        ("tapOn: {text: Pay, retry: true}", 20, "unknown field"),
        ("tapOn: {text: Pay, repeat: 0}", 28, "from 1 to 100"),
        ("tapOn: {text: Pay, delay: x}", 27, "expected a number"),
        ("tapOn: {point: 5}", 16, "expected a point"),
        ("tapOn: {text: Pay, traits: button}", 20, "traits is not supported here: use text or id"),
        ("tapOn: {css: .pay}", 9, "css is not supported"),
        ("doubleTapOn: {}", 14, "at least one of"),
        ("longPressOn: {id: }", 19, "expected text, not nothing"),
        ("inputText: {txt: x}", 13, "did you mean text?"),
        ("inputText:", 11, "expected text, not nothing"),
        ("eraseText: {charactersToErase: 0}", 32, "from 1 to 10000"),
        ("copyTextFrom: []", 15, "expected text"),
        ("setClipboard: [x]", 15, "expected text"),
        ("pasteText: x", 12, "expected a mapping"),
        ("pressKey: Entre", 11, "did you mean enter?"),
        ("pressKey: Remote Dpad Up", 11, "expected one of enter"),
        ("back: x", 7, "expected a mapping"),
        ("hideKeyboard: {x: 1}", 16, "unknown field"),
        ("swipe: {direction: UPP}", 20, "did you mean up?"),
        ("swipe: {start: '1,2', end: x}", 28, "expected a point"),
        ("scroll: down", 9, "expected a mapping"),
        ("scrollUntilVisible: Pay", 21, "expected a mapping"),
        ("scrollUntilVisible: {direction: UP}", 21, "element is missing"),
        ("scrollUntilVisible: {element: Pay, speed: 101}", 43, "from 0 to 100"),
        ("scrollUntilVisible: {element: Pay, visibilityPercentage: x}", 58, "from 0 to 100"),
        ("scrollUntilVisible: {element: Pay, centerElement: 1}", 51, "true or false"),
        ("assertVisible: {text: Pay, timeout: 5}", 28, "use extendedWaitUntil"),
        ("assertNotVisible: {point: '1,2'}", 20, "only tapOn, doubleTapOn and longPressOn have it"),
        ("assertVisible: {containsDescendants: []}", 38, "1 to 20 selectors"),
        ("assertVisible: {text: Pay, width: -1}", 35, "expected a number"),
        ("assertTrue:", 12, "expected text"),
        ("assertTrue: {value: 1}", 14, "unknown field"),
        ("extendedWaitUntil: {visible: Pay, timeout: soon}", 44, "expected a number"),
        ("waitForAnimationToEnd: 5", 24, "expected a mapping"),
        ("waitForAnimationToEnd: {timeout: -1}", 34, "expected a number"),
        ("takeScreenshot: {name: x}", 18, "unknown field"),
        ("openLink: ' '", 11, "the link is empty"),
        ("openLink: {link: a, autoVerify: true}", 21, "autoVerify is not supported"),
        ("openLink: {browser: true, link: a}", 12, "browser is not supported"),
        ("setLocation: {latitude: 91, longitude: 0}", 25, "from -90 to 90"),
        ("setLocation: {latitude: 1}", 14, "longitude is missing"),
        ("setOrientation: UPSIDE_DOWN", 17, "expected one of portrait"),
        ("runFlow: {commands: [back], when: {true: [a]}}", 42, "expected text"),
        ("runFlow: {commands: [back], when: {visibel: a}}", 36, "did you mean visible?"),
        ("runFlow: {commands: [back], env: {a b: 1}}", 35, "is not a name for a variable"),
        ("runFlow: {commands: [back], env: [1]}", 34, "expected a mapping"),
        ("repeat: {times: x, commands: [back]}", 17, "expected a number"),
        ("repeat: {times: 1, commands: back}", 30, "expected a list"),
        ("retry: {maxRetries: 2, file: a.yaml}", 24, "list its commands under commands"),
        ("retry: {commands: [bakc]}", 20, "did you mean back?"),
        ("tapOn: {text: Pay, label: [x]}", 27, "expected text"),
        ("back: {optional: 1}", 18, "true or false"),
        ("tapOn: '${a b}'", 8, '"b" is not expected'),
    ],
)
def test_a_wrong_argument_is_refused_at_its_location(text: str, column: int, message: str) -> None:
    with pytest.raises(DocumentError) as error:
        parse_flow(f"- back\n- {text}")
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (2, column + 2)


def test_every_command_has_an_example_here() -> None:
    tried = {name for name in COMMANDS if f'"{name}' in Path(__file__).read_text()}
    assert tried == COMMANDS


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("tapOn: '${A}'", commands.TapOn(PAY)),
        ("tapOn: {text: '${A}', index: '${N}', enabled: '${T}'}",
         commands.TapOn(Selector(text=Pattern("Pay"), index=2, enabled=True))),
        ("tapOn: {point: '${N}0%, 5%'}", commands.TapOn(point=Position(0.2, 0.05, True))),
        ("eraseText: '${N}'", commands.EraseText(2)),
        ("pressKey: '${K}'", commands.PressKey("enter")),
        ("swipe: {direction: '${D}'}", commands.Swipe(direction="left")),
        ("setLocation: {latitude: '${N}', longitude: '-${N}.5'}", commands.SetLocation(2, -2.5)),
        ("launchApp: {appId: 'com.${A}', arguments: {x: '${N}'}}",
         commands.LaunchApp("com.Pay", arguments=(("x", "2"),))),
        ("assertTrue: '${N > 1}'", commands.AssertTrue("true", "${N > 1}")),
    ],
)  # fmt: skip
def test_any_argument_may_be_a_variable(text: str, command: Command) -> None:
    (step,) = parse_flow(f"- {text}").steps
    scope = Scope(BuiltInVariables(), {"A": "Pay", "N": "2", "T": "true", "K": "Enter", "D": "LEFT"})
    filled = fill_step(step, scope)
    assert filled.command == command
    assert fill_step(filled, scope).command == command


def test_variables_of_inner_steps_stay_pending() -> None:
    repeat = {"times": "${N}", "label": "${N} times", "commands": [{"inputText": "${X}"}]}
    (step,) = parse_flow([{"repeat": repeat}]).steps
    filled = fill_step(step, Scope(BuiltInVariables(), {"N": "2"}))
    assert isinstance(filled.command, Repeat)
    assert (filled.command.times, filled.title) == (2, "2 times")
    assert filled.command.commands[0].command == commands.InputText("${X}")


def test_an_element_can_mark_its_command_as_optional() -> None:
    flow = parse_flow(
        [{"scrollUntilVisible": {"element": {"id": "x", "optional": True}}}, {"extendedWaitUntil": {"visible": "x"}}]
    )
    assert [step.optional for step in flow.steps] == [True, False]


def test_max_retries_may_be_zero() -> None:
    retry = read("retry: {maxRetries: 0, commands: [back]}")
    assert isinstance(retry, Retry)
    assert retry.max_retries == 0
