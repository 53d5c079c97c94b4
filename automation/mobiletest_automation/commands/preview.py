"""Previews what a step would do on a screen, by the rules alone, without a device or a model."""

from mobiletest_automation.commands.selector_search import describe_matches, explain_missing, find_by_selector
from mobiletest_automation.flows.app_commands import (
    ClearState,
    KillApp,
    LaunchApp,
    OpenBrowser,
    OpenLink,
    SetPermissions,
    StopApp,
)
from mobiletest_automation.flows.assertion_commands import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    ExtendedWaitUntil,
)
from mobiletest_automation.flows.capture_commands import (
    AssertScreenshot,
    AssertWithAI,
    ExtractTextWithAI,
    StartRecording,
    TakeScreenshot,
)
from mobiletest_automation.flows.css_selectors import css_selectors_of
from mobiletest_automation.flows.device_commands import (
    AddMedia,
    AssertMode,
    SetLocation,
    SetMode,
    SetOrientation,
    Travel,
)
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.flows.steps import Command, Sentence
from mobiletest_automation.flows.text_commands import (
    CopyTextFrom,
    EraseText,
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
from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.grounding import Grounding, RefusalReason, ground_first
from mobiletest_automation.sentences.intents import Action

IN_BROWSER_ONLY = "css selectors are evaluated in the page when the test runs, so there is no preview of them"


def preview_step(command: Command, tree: Element) -> Grounding:
    """What the command or sentence would do on this screen; not for commands that hold other steps."""
    if isinstance(command, Sentence):
        return ground_sentence(command.text, tree)
    if css_selectors_of(command):
        return Grounding(reason=RefusalReason.NOT_FOUND, message=IN_BROWSER_ONLY)
    outline = Outline(tree)
    match command:
        case (
            TapOn(selector=Selector() as selector)
            | DoubleTapOn(selector=Selector() as selector)
            | LongPressOn(selector=Selector() as selector)
            | CopyTextFrom(selector)
            | Swipe(source=Selector() as selector)
            | TakeScreenshot(crop_on=Selector() as selector)
            | AssertScreenshot(crop_on=Selector() as selector)
        ):
            return _with_required_element(command, selector, outline)
        case AssertVisible(selector) | ExtendedWaitUntil(visible=Selector() as selector):
            return _with_expected_element(command, selector, outline)
        case ScrollUntilVisible(selector=selector):
            return _with_expected_element(command, selector, outline)
        case AssertNotVisible(selector) | ExtendedWaitUntil(not_visible=Selector() as selector):
            return _with_absent_element(selector, outline)
        case InputText() | PasteText() | EraseText() | InputRandom():
            return _with_focused_field(command, outline)
        case _:
            return Grounding(action=command.action, value=_value_of(command))


def _value_of(command: Command) -> str | None:
    """The text, key, direction, link or name of a command."""
    match command:
        case InputText(text) | SetClipboard(text):
            return text
        case PressKey(key):
            return key if key != "back" else None
        case LaunchApp(app_id=app_id) | StopApp(app_id) | KillApp(app_id) | ClearState(app_id) | SetPermissions(app_id):
            return app_id
        case TakeScreenshot(name) | AssertScreenshot(name) | StartRecording(name):
            return name
        case TapOn(selector=None) | DoubleTapOn(selector=None) | LongPressOn(selector=None):
            return str(command.point)
        case Swipe():
            return command.direction or f"{command.start} to {command.end}"
        case Scroll():
            return "down"
        case ScrollUntilVisible():
            return command.direction
        case AssertTrue(value):
            return value
        case AssertWithAI(text) | ExtractTextWithAI(text):
            return text
        case OpenLink() | OpenBrowser() | Travel() | AddMedia() | SetLocation() | SetOrientation():
            return command.subject
        case SetMode(_, on) | AssertMode(_, on):
            return None if on is None else "on" if on else "off"
        case _:
            return None


def _with_required_element(command: Command, selector: Selector, outline: Outline) -> Grounding:
    """For commands that need the element: the first that matches, as when the step runs."""
    elements = find_by_selector(selector, outline)
    if not elements:
        why = explain_missing(selector, outline)
        message = f"no element on the screen matches {selector}{why and ': '}{why}"
        return Grounding(reason=RefusalReason.NOT_FOUND, message=message)
    return ground_first(command.action, elements, _value_of(command), describe_matches(elements))


def _with_expected_element(command: Command, selector: Selector, outline: Outline) -> Grounding:
    """For an element that may still appear."""
    elements = find_by_selector(selector, outline)
    message = "" if elements else f"{selector} is not on this screen"
    return ground_first(command.action, elements, _value_of(command), message)


def _with_absent_element(selector: Selector, outline: Outline) -> Grounding:
    elements = find_by_selector(selector, outline)
    return ground_first(
        Action.ASSERT_NOT_VISIBLE, elements, message=f"{selector} is on this screen" if elements else ""
    )


def _with_focused_field(command: Command, outline: Outline) -> Grounding:
    """Into the field that has the focus; not every page source says which one that is."""
    focused = next((each for each in walk(outline.root) if each.editable and each.focused), None)
    message = "" if focused else "no field has the focus: tap a field first"
    return Grounding(action=command.action, element=focused, value=_value_of(command), message=message)
