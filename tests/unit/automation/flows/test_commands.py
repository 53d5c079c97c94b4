"""Each command with its arguments, and each wrong argument with the line and column where it is refused."""

from pathlib import Path

import pytest

from mobiletest_automation.flows.app_commands import (
    ClearKeychain,
    ClearState,
    KillApp,
    LaunchApp,
    OpenBrowser,
    OpenLink,
    SetPermissions,
    StopApp,
)
from mobiletest_automation.flows.assertion_commands import (
    AssertTrue,
    AssertVisible,
    ExtendedWaitUntil,
    WaitForAnimationToEnd,
)
from mobiletest_automation.flows.capture_commands import (
    AssertNoDefectsWithAI,
    AssertScreenshot,
    AssertWithAI,
    ExtractTextWithAI,
    StartRecording,
    StopRecording,
    TakeScreenshot,
)
from mobiletest_automation.flows.device_commands import (
    AddMedia,
    AssertMode,
    GeoPoint,
    Mode,
    SetLocation,
    SetMode,
    SetOrientation,
    Travel,
)
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.flows.parser import COMMANDS
from mobiletest_automation.flows.patterns import Pattern
from mobiletest_automation.flows.selectors import Condition, Position, Selector
from mobiletest_automation.flows.steps import Command, Repeat, RunFlow
from mobiletest_automation.flows.text_commands import (
    CopyTextFrom,
    EraseText,
    HideKeyboard,
    InputRandom,
    InputText,
    PasteText,
    PressKey,
    SetClipboard,
)
from mobiletest_automation.flows.touch_commands import (
    DoubleTapOn,
    LongPressOn,
    Scroll,
    ScrollUntilVisible,
    Swipe,
    TapOn,
)
from tests.fakes.flows import stored_steps
from tests.unit.automation.flows.filling import fill

PAY = Selector(text=Pattern("Pay"))


def read(text: str) -> Command:
    (step,) = parse_flow(f"- {text}").steps
    return step.command


def refusal(text: str) -> DocumentError:
    with pytest.raises(DocumentError) as error:
        parse_flow(f"- back\n- {text}")
    return error.value


READ: list[tuple[str, Command]] = [
    ("launchApp: {permissions: {all: deny, camera: ALLOW}, arguments: {a: 1, b: true, c: x, d: 0.5}}",
     LaunchApp(permissions=(("all", "deny"), ("camera", "allow")),
                       arguments=(("a", 1), ("b", True), ("c", "x"), ("d", 0.5)))),
    ("launchApp: {clearKeychain: true, label: x}", LaunchApp(clear_keychain=True)),
    ("launchApp: {appId: com.a, clearState: true, stopApp: false}",
     LaunchApp("com.a", clear_state=True, stop_app=False)),
    ("stopApp", StopApp()),
    ("stopApp: {appId: com.a}", StopApp("com.a")),
    ("clearState", ClearState()),
    ("clearState: com.a", ClearState("com.a")),
    ("clearState: {appId: com.a, optional: true}", ClearState("com.a")),
    ("tapOn: {point: '50%, 20%'}", TapOn(point=Position(0.5, 0.2, True))),
    ("tapOn: {text: Pay, point: '5, 6'}", TapOn(PAY, point=Position(5, 6, False))),
    ("tapOn: {text: Pay, repeat: 3, delay: 500}", TapOn(PAY, times=3, pause_seconds=0.5)),
    ("tapOn: {text: Pay, retryTapIfNoChange: true, waitToSettleTimeoutMs: 250}",
     TapOn(PAY, retry_if_no_change=True, settle_seconds=0.25)),
    ("doubleTapOn: Pay", DoubleTapOn(PAY)),
    ("longPressOn: {text: Pay, optional: true}", LongPressOn(PAY)),
    ("inputText: {text: x, label: y}", InputText("x")),
    ("inputText: 007", InputText("007")),
    ("eraseText: {label: y}", EraseText(50)),
    ("eraseText: 7", EraseText(7)),
    ("eraseText: {charactersToErase: 7}", EraseText(7)),
    ("copyTextFrom: {text: Pay}", CopyTextFrom(PAY)),
    ("setClipboard: x", SetClipboard("x")),
    ("pasteText", PasteText()),
    ("pasteText: {label: y}", PasteText()),
    ("pressKey: Volume Up", PressKey("volume up")),
    ("pressKey: {key: ENTER}", PressKey("enter")),
    ("hideKeyboard", HideKeyboard()),
    ("scroll: {label: x}", Scroll()),
    ("swipe: {direction: up, from: {text: Pay}, duration: 800}",
     Swipe(direction="up", source=PAY, seconds=0.8)),
    ("swipe: {start: '50%, 90%', end: '50%,10%'}",
     Swipe(start=Position(0.5, 0.9, True), end=Position(0.5, 0.1, True))),
    ("swipe: {start: '10, 20', end: '30, 40'}",
     Swipe(start=Position(10, 20, False), end=Position(30, 40, False))),
    ("extendedWaitUntil: {visible: Pay, notVisible: {text: Pay}, timeout: 5000}",
     ExtendedWaitUntil(visible=PAY, not_visible=PAY, timeout_seconds=5.0)),
    ("takeScreenshot: home", TakeScreenshot("home")),
    ("swipe: {direction: UP, waitToSettleTimeoutMs: 100}", Swipe(direction="up", settle_seconds=0.1)),
    ("scrollUntilVisible: {element: Pay}", ScrollUntilVisible(selector=PAY, seconds=0.601)),
    ("scrollUntilVisible: {element: {text: Pay}, direction: LEFT, timeout: 5000, speed: 100,"
     " visibilityPercentage: 50, centerElement: true, waitToSettleTimeoutMs: 700}",
     ScrollUntilVisible(selector=PAY, direction="left", timeout_seconds=5, seconds=0.001, share=0.5,
                                centered=True, settle_seconds=0.7)),
    ("assertTrue: true", AssertTrue("true")),
    ("assertTrue: {condition: 1}", AssertTrue("1")),
    ("waitForAnimationToEnd", WaitForAnimationToEnd(15)),
    ("waitForAnimationToEnd: {timeout: 500}", WaitForAnimationToEnd(0.5)),
    ("openLink: ' shop://x '", OpenLink("shop://x")),
    ("openLink: {link: shop://x, browser: false}", OpenLink("shop://x")),
    ("setLocation: {latitude: 52.5, longitude: '-4'}", SetLocation(52.5, -4)),
    ("setOrientation: LANDSCAPE_RIGHT", SetOrientation("landscape_right")),
    ("setOrientation: landscapeLeft", SetOrientation("landscape_left")),
    ("setOrientation: LANDSCAPE", SetOrientation("landscape_left")),
    ("setOrientation: UPSIDE_DOWN", SetOrientation("upside_down")),
    ("openLink: {link: a, browser: true}", OpenLink("a", in_browser=True)),
    ("openLink: {link: a, autoVerify: true}", OpenLink("a", in_own_app=True)),
    ("launchApp: {url: 'https://a.b/c?d=1'}", LaunchApp("https://a.b/c?d=1")),
    ("launchApp: https://a.b", LaunchApp("https://a.b")),
    ("setAirplaneMode: enabled", SetMode(Mode.AIRPLANE, on=True)),
    ("setAirplaneMode: {value: Disabled, optional: true}", SetMode(Mode.AIRPLANE, on=False)),
    ("toggleAirplaneMode", SetMode(Mode.AIRPLANE)),
    ("setDarkMode: disabled", SetMode(Mode.DARK, on=False)),
    ("toggleDarkMode: {label: x}", SetMode(Mode.DARK)),
    ("assertDarkMode", AssertMode(Mode.DARK, on=True)),
    ("assertLightMode", AssertMode(Mode.DARK, on=False)),
    ("travel: {points: ['0.0,0.5', '-1, 2'], speed: 1000}",
     Travel((GeoPoint(0, 0.5), GeoPoint(-1, 2)), 1000)),
    ("addMedia: [a.png, b/c.MP4]", AddMedia(("a.png", "b/c.MP4"))),
    ("addMedia: {files: [a.jpg]}", AddMedia(("a.jpg",))),
    ("openBrowser: https://a.b/c", OpenBrowser("https://a.b/c")),
    ("killApp", KillApp()),
    ("killApp: com.a", KillApp("com.a")),
    ("clearKeychain", ClearKeychain()),
    ("setPermissions: {url: com.a, permissions: {location: Always, photos: limited, camera: never}}",
     SetPermissions("com.a", (("location", "always"), ("photos", "limited"), ("camera", "never")))),
    ("action: hideKeyboard", HideKeyboard()),
    ("action: clearKeychain", ClearKeychain()),
    ("hide keyboard", HideKeyboard()),
    ("pressKey: Remote Media Play Pause", PressKey("remote media play pause")),
    ("swipe: {direction: LEFT, from: {text: Pay, point: '90%,50%'}}",
     Swipe(direction="left", source=PAY, source_point=Position(0.9, 0.5, True))),
    ("setOrientation: {orientation: portrait}", SetOrientation("portrait")),
    ("takeScreenshot: {path: a/b}", TakeScreenshot("a/b")),
    ("takeScreenshot: {path: a, cropOn: {text: Pay}}", TakeScreenshot("a", PAY)),
    ("inputRandomText", InputRandom("text", 8)),
    ("inputRandomText: {length: 12}", InputRandom("text", 12)),
    ("inputRandomNumber: {length: 0}", InputRandom("number", 8)),
    ("inputRandomEmail", InputRandom("email")),
    ("inputRandomPersonName: {label: x}", InputRandom("person name")),
    ("inputRandomCityName", InputRandom("city name")),
    ("inputRandomCountryName", InputRandom("country name")),
    ("inputRandomColorName: {optional: true}", InputRandom("color name")),
    ("assertScreenshot: a/home", AssertScreenshot("a/home", 0.95)),
    ("assertScreenshot: {path: home, thresholdPercentage: '99.5', cropOn: Pay}",
     AssertScreenshot("home", 0.995, PAY)),
    ("startRecording: a", StartRecording("a")),
    ("startRecording: {path: a, label: b}", StartRecording("a")),
    ("stopRecording: {label: a}", StopRecording()),
    ("assertWithAI: It is free", AssertWithAI("It is free")),
    ("assertWithAI: {assertion: ' x ', label: y}", AssertWithAI("x")),
    ("assertNoDefectsWithAI", AssertNoDefectsWithAI()),
    ("extractTextWithAI: the code", ExtractTextWithAI("the code", "aiOutput")),
    ("extractTextWithAI: {query: the code, outputVariable: CODE}", ExtractTextWithAI("the code", "CODE")),
    ("assertVisible: {text: Pay, width: 10, height: '20', tolerance: 1.5}",
     AssertVisible(Selector(text=Pattern("Pay"), width=10, height=20, tolerance=1.5))),
    ("assertVisible: {containsDescendants: [Pay, {text: Pay}]}",
     AssertVisible(Selector(contains_descendants=(PAY, PAY)))),
]  # fmt: skip


def test_commands_are_read_with_their_arguments() -> None:
    assert {text: read(text) for text, _ in READ} == dict(READ)


def test_an_inner_flow_has_conditions_and_variables() -> None:
    flow = read("runFlow: {when: {true: '1', platform: Android}, env: {A: 1, B: ''}, commands: [back]}")
    assert isinstance(flow, RunFlow)
    assert (flow.when, flow.env) == (Condition(platform="android", truth="1"), (("A", "1"), ("B", "")))
    repeat = read("repeat: {while: {true: x}, commands: [back]}")
    assert isinstance(repeat, Repeat)
    assert repeat.condition == Condition(truth="x")


REFUSED: list[tuple[str, int, str]] = [
    ("launchApp:", 1, 'nothing follows "launchApp:": write launchApp without the colon, or give its options'),
    ("scroll: # down", 1, 'nothing follows "scroll:"'),
    ("waitForAnimationToEnd: ~", 1, 'nothing follows "waitForAnimationToEnd:"'),
    ("repeat: {times: 2, commands: [back: ]}", 31, 'nothing follows "back:"'),
    ("runFlow: {env: {A: x, B: }, commands: [back]}", 23, 'the variable B has no value: write B: ""'),
    ("retry: {env: {B: ~}, commands: [back]}", 15, "the variable B has no value"),
    ("runScript: {script: x, env: {B: null}}", 30, "the variable B has no value"),
    ("launchApp: [a]", 12, "expected text, not a list"),
    ("launchApp: {permissions: {camera: maybe}}", 35, "expected one of allow, deny, unset"),
    ("launchApp: {permissions: all}", 26, "expected a mapping"),
    ("launchApp: {arguments: {a: [1]}}", 28, "expected text"),
    ("launchApp: {clearState: 1.5}", 25, "expected true or false"),
    ("launchApp: {appID: a}", 13, "did you mean appId?"),
    ("stopApp: {app: a}", 11, "did you mean appId?"),
    ("clearState: a b", 13, "the id of an app"),
    ("tapOn: {text: Pay, retry: true}", 20, "unknown field"),
    ("tapOn: {text: Pay, delay: x}", 27, "expected a number"),
    ("tapOn: {point: 5}", 16, "expected a point"),
    ("tapOn: {text: Pay, css: //button}", 25, '"//button" is not a CSS selector: "/" has no meaning there'),
    ("tapOn: {below: {css: ''}}", 22, '"" is not a CSS selector: a part of the list is empty'),
    ("tapOn: {css: [a]}", 14, "expected text, not a list"),
    ("doubleTapOn: {}", 14, "at least one of"),
    ("longPressOn: {id: }", 19, "expected text, not nothing"),
    ("inputText: {txt: x}", 13, "did you mean text?"),
    ("inputText:", 11, "expected text, not nothing"),
    ("copyTextFrom: []", 15, "expected text"),
    ("setClipboard: [x]", 15, "expected text"),
    ("pasteText: x", 12, "expected a mapping"),
    ("pressKey: Entre", 11, "did you mean enter?"),
    ("pressKey: Remote Dpad", 11, "expected one of enter"),
    ("back: x", 7, "expected a mapping"),
    ("hideKeyboard: {x: 1}", 16, "unknown field"),
    ("swipe: {direction: UPP}", 20, "did you mean up?"),
    ("swipe: {start: '1,2', end: x}", 28, "expected a point"),
    ("scroll: down", 9, "expected a mapping"),
    ("scrollUntilVisible: Pay", 21, "expected a mapping"),
    ("scrollUntilVisible: {direction: UP}", 21, "element is missing"),
    ("scrollUntilVisible: {element: Pay, visibilityPercentage: x}", 58, "expected a number"),
    ("scrollUntilVisible: {element: Pay, centerElement: 1.5}", 51, "true or false"),
    ("assertVisible: {text: Pay, timeout: 5}", 28, "use extendedWaitUntil"),
    ("assertNotVisible: {text: ''}", 26, "is empty"),
    ("assertVisible: {containsDescendants: []}", 38, "1 to 20 selectors"),
    ("assertVisible: {text: Pay, width: -1}", 35, "expected a number"),
    ("assertTrue:", 12, "expected text"),
    ("assertTrue: {value: 1}", 14, "unknown field"),
    ("extendedWaitUntil: {visible: Pay, timeout: soon}", 44, "expected a number"),
    ("waitForAnimationToEnd: 5", 24, "expected a mapping"),
    ("takeScreenshot: {name: x}", 18, "unknown field"),
    ("takeScreenshot: {path: x, cropOn: {}}", 35, "at least one of"),
    ("assertScreenshot: ' '", 19, "the name of the baseline is empty"),
    ("assertScreenshot: {path: a, thresholdPercentage: 101}", 50, "from 0 to 100"),
    ("assertScreenshot: {cropOn: a}", 19, "path is missing"),
    ("startRecording", 1, "expected text, not nothing"),
    ("startRecording: ' '", 17, "the name of the recording is empty"),
    ("stopRecording: a", 16, "expected a mapping"),
    ("assertWithAI: ' '", 15, "the text for the model is empty"),
    ("assertWithAI: {optional: true}", 15, "assertion is missing"),
    ("assertNoDefectsWithAI: x", 24, "expected a mapping"),
    ("extractTextWithAI: {query: x, outputVariable: a-b}", 47, '"a-b" is not a name for a variable'),
    ("inputRandomText: {length: 1001}", 27, "from -1000 to 1000"),
    ("inputRandomText: {size: 8}", 19, "unknown field"),
    ("inputRandomEmail: {length: 8}", 20, "unknown field"),
    ("openLink: ' '", 11, "the link is empty"),
    ("openLink: {link: a, autoVerify: 2.5}", 33, "true or false"),
    ("launchApp: {appId: a, url: b}", 23, "url is another name for appId"),
    ("launchApp: {permissions: {camera: sometimes}}", 35, "expected one of allow, deny, unset, always"),
    ("setPermissions: {appId: a}", 17, "permissions is missing"),
    ("setAirplaneMode: maybe", 18, "expected one of enabled, disabled"),
    ("travel: {points: [], speed: 1}", 18, "1 to 100 points"),
    ("travel: {points: ['1,2', '91,2']}", 26, "a latitude and a longitude"),
    ("travel: {points: ['1,2', '3,4'], speed: 0}", 41, "expected a number"),
    ("travel: {points: ['0,0', '0,90']}", 18, "use a higher speed or fewer points"),
    ("addMedia: [a.txt]", 12, "a file that ends in .png"),
    ("addMedia: []", 11, "there are no files"),
    ("addMedia: a.png", 11, "expected a list"),
    ("openBrowser: shop://cart", 14, "the address of a web page"),
    ("killApp: a b", 10, "expected the id of an app"),
    ("action: jump", 9, "expected one of back"),
    ("swipe: {direction: UP, from: {point: '1,2'}}", 30, "at least one of text"),
    ("setLocation: {latitude: 91, longitude: 0}", 25, "from -90 to 90"),
    ("setLocation: {latitude: 1}", 14, "longitude is missing"),
    ("setOrientation: SIDEWAYS", 17, "expected one of portrait"),
    ("runFlow: {commands: [back], when: {true: [a]}}", 42, "expected text"),
    ("runFlow: {commands: [back], when: {visibel: a}}", 36, "did you mean visible?"),
    ("runFlow: {commands: [back], env: {a b: 1}}", 35, "is not a name for a variable"),
    ("runFlow: {commands: [back], env: [1]}", 34, "expected a mapping"),
    ("repeat: {times: x, commands: [back]}", 17, "expected a number"),
    ("repeat: {times: 1, commands: back}", 30, "expected a list"),
    ("retry: {maxRetries: 2, file: a.yaml}", 30, "the file a.yaml was not sent along"),
    ("retry: {commands: [bakc]}", 20, "did you mean back?"),
    ("tapOn: {text: Pay, label: [x]}", 27, "expected text"),
    ("back: {optional: 1.5}", 18, "true or false"),
    ("tapOn: '${a'", 8, "a closing brace is missing"),
    ("evalScript: ${1", 13, "a closing brace is missing"),
    ("runScript: login.js", 12, "the file login.js was not sent along"),
    ("runScript: {script: '1', env: {A: '${B'}}", 35, "a closing brace is missing"),
]


def test_wrong_arguments_are_refused_at_their_location() -> None:
    errors = [(text, refusal(text), column, message) for text, column, message in REFUSED]
    wrong = [row for row in errors if (row[1].line, row[1].column) != (2, row[2] + 2) or row[3] not in row[1].message]
    assert wrong == []


def test_every_command_has_an_example_here() -> None:
    tried = {name for name in COMMANDS if f'"{name}' in Path(__file__).read_text()}
    assert tried == set(COMMANDS)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("tapOn: '${A}'", TapOn(PAY)),
        ("tapOn: {text: '${A}', index: '${N}', enabled: '${T}'}",
         TapOn(Selector(text=Pattern("Pay"), index=2, enabled=True))),
        ("tapOn: {point: '${N}0%, 5%'}", TapOn(point=Position(0.2, 0.05, True))),
        ("eraseText: '${N}'", EraseText(2)),
        ("pressKey: '${K}'", PressKey("enter")),
        ("swipe: {direction: '${D}'}", Swipe(direction="left")),
        ("setLocation: {latitude: '${N}', longitude: '-${N}.5'}", SetLocation(2, -2.5)),
        ("launchApp: {appId: 'com.${A}', arguments: {x: '${N}'}}",
         LaunchApp("com.Pay", arguments=(("x", "2"),))),
        ("launchApp: {arguments: {'${A}s': 1, b: true, 'c${N}': '${K}'}}",
         LaunchApp(arguments=(("Pays", 1), ("b", True), ("c2", "Enter")))),
        ("launchApp: {arguments: {debug: '${T}', retries: '${N}'}}",
         LaunchApp(arguments=(("debug", "true"), ("retries", "2")))),
        ("setPermissions: {permissions: {camera: '${P}', '${K}': deny}}",
         SetPermissions(permissions=(("camera", "allow"), ("${K}", "deny")))),
        ("assertTrue: '${N > 1}'", AssertTrue("true", "${N > 1}")),
    ],
)  # fmt: skip
def test_any_argument_may_be_a_variable(text: str, command: Command) -> None:
    (step,) = parse_flow(f"- {text}").steps
    values = {"A": "Pay", "N": "2", "T": "true", "K": "Enter", "D": "LEFT", "P": "allow", "N > 1": "true"}
    filled = fill(step, values)
    assert filled.command == command
    assert fill(filled, values).command == command


def test_arguments_whose_names_become_one_are_refused() -> None:
    (step,) = parse_flow("- launchApp:\n    arguments: {user: Ada, '${A}': Grace}\n").steps
    with pytest.raises(DocumentError, match=r'line 2, column 28 .*duplicate key "user", once the variables of'):
        fill(step, {"A": "user"})


def test_numbers_of_launch_arguments_are_stored_as_numbers() -> None:
    """Elsewhere what JSON would write differently is the text that it was."""
    steps = stored_steps(
        "- launchApp: {clearState: TRUE, arguments: {a: 2.50, b: +5, c: '2.50', d: True, e: 'true'}}\n"
        "- inputText: 2.50\n- inputText: TRUE\n- tapOn: {text: Off, enabled: true}\n"
    )
    arguments = {"a": 2.5, "b": 5, "c": "2.50", "d": True, "e": "true"}
    launch, *others = steps
    assert launch == {"launchApp": {"clearState": "TRUE", "arguments": arguments}}
    assert others == [{"inputText": "2.50"}, {"inputText": "TRUE"}, {"tapOn": {"text": "Off", "enabled": True}}]
    assert parse_flow(steps).steps[0].command == LaunchApp(clear_state=True, arguments=tuple(arguments.items()))


def test_variables_of_inner_steps_stay_pending() -> None:
    repeat = {"times": "${N}", "label": "${N} times", "commands": [{"inputText": "${X}"}]}
    (step,) = parse_flow([{"repeat": repeat}]).steps
    filled = fill(step, {"N": "2"})
    assert isinstance(filled.command, Repeat)
    assert (filled.command.times, filled.title) == (2, "2 times")
    assert filled.command.commands[0].command == InputText("${X}")
