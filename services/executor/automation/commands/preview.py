"""Previews what a step would do on a screen, by the rules alone, without a device or a model."""

from services.executor.automation.commands.context import action_of
from services.executor.automation.commands.selector_search import find_by_selector
from services.executor.automation.screen.elements import Element, walk
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.grounder import CANDIDATES_LIMIT, Grounding, RefusalReason, ground_sentence
from services.executor.automation.sentences.intents import Action
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    ClearState,
    CopyTextFrom,
    DoubleTapOn,
    EraseText,
    ExtendedWaitUntil,
    InputText,
    LaunchApp,
    LongPressOn,
    OpenLink,
    PasteText,
    PressKey,
    Scroll,
    ScrollUntilVisible,
    SetClipboard,
    SetLocation,
    SetOrientation,
    StopApp,
    Swipe,
    TakeScreenshot,
    TapOn,
)
from services.flows.selectors import Selector
from services.flows.steps import Command, Repeat, Retry, RunFlow, Sentence

CONTAINER_COMMANDS = (RunFlow, Repeat, Retry)
"""Commands that hold other steps, which are previewed one by one."""


def preview_step(command: Command, tree: Element) -> Grounding:
    """What the command or sentence would do on this screen; not for CONTAINER_COMMANDS."""
    if isinstance(command, Sentence):
        return ground_sentence(command.text, tree)
    outline = Outline(tree)
    match command:
        case (
            TapOn(selector=Selector() as selector)
            | DoubleTapOn(selector=Selector() as selector)
            | LongPressOn(selector=Selector() as selector)
            | CopyTextFrom(selector)
            | Swipe(source=Selector() as selector)
        ):
            return _with_required_element(command, selector, outline)
        case AssertVisible(selector) | ExtendedWaitUntil(visible=Selector() as selector):
            return _with_expected_element(command, selector, outline)
        case ScrollUntilVisible(selector=selector):
            return _with_expected_element(command, selector, outline)
        case AssertNotVisible(selector) | ExtendedWaitUntil(not_visible=Selector() as selector):
            return _with_absent_element(selector, outline)
        case InputText() | PasteText() | EraseText():
            return _with_focused_field(command, outline)
        case _:
            return Grounding(action=action_of(command), value=_value_of(command))


def _value_of(command: Command) -> str | None:
    """The text, key, direction, link or name of a command."""
    match command:
        case InputText(text) | SetClipboard(text):
            return text
        case PressKey(key):
            return key if action_of(command) is Action.PRESS_KEY else None
        case LaunchApp(app_id=app_id) | StopApp(app_id) | ClearState(app_id):
            return app_id
        case TakeScreenshot(name):
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
        case OpenLink() | SetLocation() | SetOrientation():
            return command.subject
        case _:
            return None


def _with_required_element(command: Command, selector: Selector, outline: Outline) -> Grounding:
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
        action=action_of(command),
        element=found[0],
        value=_value_of(command),
        candidates=tuple(found[:CANDIDATES_LIMIT]),
        message=more,
    )


def _with_expected_element(command: Command, selector: Selector, outline: Outline) -> Grounding:
    """For an element that may still appear."""
    found = find_by_selector(selector, outline)
    return Grounding(
        action=action_of(command),
        element=found[0] if found else None,
        value=_value_of(command),
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


def _with_focused_field(command: Command, outline: Outline) -> Grounding:
    """Into the field that has the focus; not every page source says which one that is."""
    focused = next((each for each in walk(outline.root) if each.editable and each.focused), None)
    message = "" if focused else "no field has the focus: tap a field first"
    return Grounding(action=action_of(command), element=focused, value=_value_of(command), message=message)
