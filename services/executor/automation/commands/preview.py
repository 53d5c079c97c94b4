"""Previews what a step would do on a screen, by the rules alone, without a device or a model."""

from services.executor.automation.commands.selector_search import find_by_selector
from services.executor.automation.screen.elements import Element, walk
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.grounder import CANDIDATES_LIMIT, Grounding, RefusalReason, ground_sentence
from services.executor.automation.sentences.intents import Action
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    Back,
    ClearState,
    CopyTextFrom,
    EraseText,
    ExtendedWaitUntil,
    HideKeyboard,
    InputText,
    LaunchApp,
    OpenLink,
    PasteText,
    PressKey,
    SetClipboard,
    SetLocation,
    SetOrientation,
    StopApp,
    TakeScreenshot,
    WaitForAnimationToEnd,
)
from services.flows.gestures import DoubleTapOn, LongPressOn, Scroll, ScrollUntilVisible, Swipe, TapOn
from services.flows.selectors import Selector
from services.flows.steps import Command, Repeat, Retry, RunFlow, Sentence

CONTAINER_COMMANDS = (RunFlow, Repeat, Retry)
"""Commands that hold other steps, which are previewed one by one."""


def preview_step(command: Command, tree: Element) -> Grounding:
    """What the command or sentence would do on this screen; not for CONTAINER_COMMANDS."""
    if isinstance(command, Sentence):
        return ground_sentence(command.text, tree)
    return _preview_on_element(command, Outline(tree)) or _preview_without_element(command)


def _preview_on_element(command: Command, outline: Outline) -> Grounding | None:
    match command:
        case TapOn(selector=Selector() as selector):
            return _with_required_element(Action.TAP, selector, outline)
        case DoubleTapOn(selector=Selector() as selector):
            return _with_required_element(Action.DOUBLE_TAP, selector, outline)
        case LongPressOn(selector=Selector() as selector):
            return _with_required_element(Action.LONG_PRESS, selector, outline)
        case CopyTextFrom(selector):
            return _with_required_element(Action.COPY_TEXT, selector, outline)
        case Swipe(source=Selector() as selector):
            return _with_required_element(Action.SWIPE, selector, outline, _describe_path(command))
        case InputText(text):
            return _with_focused_field(Action.TYPE, outline, text)
        case PasteText():
            return _with_focused_field(Action.TYPE, outline, None)
        case EraseText():
            return _with_focused_field(Action.CLEAR, outline, None)
        case _:
            return _preview_check(command, outline)


def _preview_check(command: Command, outline: Outline) -> Grounding | None:
    match command:
        case AssertVisible(selector):
            return _with_expected_element(Action.ASSERT_VISIBLE, selector, outline)
        case AssertNotVisible(selector) | ExtendedWaitUntil(visible=None, not_visible=Selector() as selector):
            return _with_absent_element(selector, outline)
        case ExtendedWaitUntil(visible=Selector() as selector):
            return _with_expected_element(Action.WAIT_FOR, selector, outline)
        case ScrollUntilVisible(selector=selector, direction=direction):
            return _with_expected_element(Action.SCROLL_UNTIL_VISIBLE, selector, outline, direction)
        case _:
            return None


def _preview_without_element(command: Command) -> Grounding:
    """Actions on the screen, the app or the device as a whole."""
    match command:
        case TapOn(point=point) | DoubleTapOn(point=point) | LongPressOn(point=point):
            return Grounding(action=_TAP_ACTIONS[type(command)], value=str(point))
        case PressKey("back") | Back():
            return Grounding(action=Action.BACK)
        case PressKey(key):
            return Grounding(action=Action.PRESS_KEY, value=key)
        case LaunchApp(app_id=app_id):
            return Grounding(action=Action.LAUNCH_APP, value=app_id)
        case StopApp(app_id):
            return Grounding(action=Action.STOP_APP, value=app_id)
        case ClearState(app_id):
            return Grounding(action=Action.CLEAR_STATE, value=app_id)
        case TakeScreenshot(name):
            return Grounding(action=Action.SCREENSHOT, value=name)
        case Swipe():
            return Grounding(action=Action.SWIPE, value=_describe_path(command))
        case Scroll():
            return Grounding(action=Action.SCROLL, value="down")
        case HideKeyboard():
            return Grounding(action=Action.HIDE_KEYBOARD)
        case OpenLink(link):
            return Grounding(action=Action.OPEN_LINK, value=link)
        case _:
            return _preview_other(command)


_TAP_ACTIONS = {TapOn: Action.TAP, DoubleTapOn: Action.DOUBLE_TAP, LongPressOn: Action.LONG_PRESS}


def _preview_other(command: Command) -> Grounding:
    match command:
        case SetClipboard(text):
            return Grounding(action=Action.SET_CLIPBOARD, value=text)
        case AssertTrue(value=value):
            return Grounding(action=Action.ASSERT_TRUE, value=value)
        case WaitForAnimationToEnd():
            return Grounding(action=Action.WAIT_UNTIL_STILL)
        case SetLocation() | SetOrientation():
            action = Action.SET_LOCATION if isinstance(command, SetLocation) else Action.SET_ORIENTATION
            return Grounding(action=action, value=command.subject)
        case _:
            raise AssertionError(f"{type(command).__name__} holds steps")


def _describe_path(swipe: Swipe) -> str:
    return swipe.direction or f"{swipe.start} to {swipe.end}"


def _with_required_element(action: Action, selector: Selector, outline: Outline, value: str | None = None) -> Grounding:
    """For commands that need the element: the first that matches, as when the step runs."""
    found = find_by_selector(selector, outline)
    if not found:
        return Grounding(reason=RefusalReason.NOT_FOUND, message=f"no element on the screen matches {selector}")
    more = (
        f"{len(found)} elements match, the first is used: add an index or a position to choose another"
        if found[1:]
        else ""
    )
    return Grounding(
        action=action, element=found[0], value=value, candidates=tuple(found[:CANDIDATES_LIMIT]), message=more
    )


def _with_expected_element(action: Action, selector: Selector, outline: Outline, value: str | None = None) -> Grounding:
    """For an element that may still appear."""
    found = find_by_selector(selector, outline)
    return Grounding(
        action=action,
        element=found[0] if found else None,
        value=value,
        candidates=tuple(found[:CANDIDATES_LIMIT]),
        message="" if found else f"{selector} is not on this screen",
    )


def _with_absent_element(selector: Selector, outline: Outline) -> Grounding:
    found = find_by_selector(selector, outline)
    return Grounding(
        action=Action.ASSERT_NOT_VISIBLE,
        element=found[0] if found else None,
        candidates=tuple(found[:CANDIDATES_LIMIT]),
        message=f"{selector} is on this screen" if found else "",
    )


def _with_focused_field(action: Action, outline: Outline, text: str | None) -> Grounding:
    """Into the field that has the focus; not every page source says which one that is."""
    focused = next((each for each in walk(outline.root) if each.editable and each.focused), None)
    message = "" if focused else "no field has the focus: tap a field first"
    return Grounding(action=action, element=focused, value=text, message=message)
