"""Previews what a step would do on a screen, by the rules alone, without a device or a model."""

from mobiletest_automation.commands.context import action_of
from mobiletest_automation.commands.selector_search import describe_matches, explain_missing, find_by_selector
from mobiletest_automation.flows import capture_commands, commands, device_commands
from mobiletest_automation.flows.css_selectors import css_selectors_of
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.flows.steps import Command, Sentence
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
            commands.TapOn(selector=Selector() as selector)
            | commands.DoubleTapOn(selector=Selector() as selector)
            | commands.LongPressOn(selector=Selector() as selector)
            | commands.CopyTextFrom(selector)
            | commands.Swipe(source=Selector() as selector)
            | capture_commands.TakeScreenshot(crop_on=Selector() as selector)
            | capture_commands.AssertScreenshot(crop_on=Selector() as selector)
        ):
            return _with_required_element(command, selector, outline)
        case commands.AssertVisible(selector) | commands.ExtendedWaitUntil(visible=Selector() as selector):
            return _with_expected_element(command, selector, outline)
        case commands.ScrollUntilVisible(selector=selector):
            return _with_expected_element(command, selector, outline)
        case commands.AssertNotVisible(selector) | commands.ExtendedWaitUntil(not_visible=Selector() as selector):
            return _with_absent_element(selector, outline)
        case commands.InputText() | commands.PasteText() | commands.EraseText() | capture_commands.InputRandom():
            return _with_focused_field(command, outline)
        case _:
            return Grounding(action=action_of(command), value=_value_of(command))


def _value_of(command: Command) -> str | None:
    """The text, key, direction, link or name of a command."""
    match command:
        case commands.InputText(text) | commands.SetClipboard(text):
            return text
        case commands.PressKey(key):
            return key if action_of(command) is Action.PRESS_KEY else None
        case (
            device_commands.LaunchApp(app_id=app_id)
            | device_commands.StopApp(app_id)
            | device_commands.KillApp(app_id)
            | device_commands.ClearState(app_id)
            | device_commands.SetPermissions(app_id)
        ):
            return app_id
        case (
            capture_commands.TakeScreenshot(name)
            | capture_commands.AssertScreenshot(name)
            | capture_commands.StartRecording(name)
        ):
            return name
        case commands.TapOn(selector=None) | commands.DoubleTapOn(selector=None) | commands.LongPressOn(selector=None):
            return str(command.point)
        case commands.Swipe():
            return command.direction or f"{command.start} to {command.end}"
        case commands.Scroll():
            return "down"
        case commands.ScrollUntilVisible():
            return command.direction
        case commands.AssertTrue(value):
            return value
        case capture_commands.AssertWithAI(text) | capture_commands.ExtractTextWithAI(text):
            return text
        case (
            device_commands.OpenLink()
            | device_commands.OpenBrowser()
            | device_commands.Travel()
            | device_commands.AddMedia()
            | device_commands.SetLocation()
            | device_commands.SetOrientation()
        ):
            return command.subject
        case device_commands.SetMode(_, on) | device_commands.AssertMode(_, on):
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
    return ground_first(action_of(command), elements, _value_of(command), describe_matches(elements))


def _with_expected_element(command: Command, selector: Selector, outline: Outline) -> Grounding:
    """For an element that may still appear."""
    elements = find_by_selector(selector, outline)
    message = "" if elements else f"{selector} is not on this screen"
    return ground_first(action_of(command), elements, _value_of(command), message)


def _with_absent_element(selector: Selector, outline: Outline) -> Grounding:
    elements = find_by_selector(selector, outline)
    return ground_first(
        Action.ASSERT_NOT_VISIBLE, elements, message=f"{selector} is on this screen" if elements else ""
    )


def _with_focused_field(command: Command, outline: Outline) -> Grounding:
    """Into the field that has the focus; not every page source says which one that is."""
    focused = next((each for each in walk(outline.root) if each.editable and each.focused), None)
    message = "" if focused else "no field has the focus: tap a field first"
    return Grounding(action=action_of(command), element=focused, value=_value_of(command), message=message)
