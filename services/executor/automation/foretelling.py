"""Tells what a step would do on a screen, by the rules alone: no device is touched and no model is asked."""

from dataclasses import dataclass

from services.executor.automation.doings import Doing
from services.executor.automation.elements import Element, walk
from services.executor.automation.selecting import select
from services.executor.automation.sentences.grounder import SHOWN_CANDIDATES, Reason, ground
from services.executor.automation.sentences.intents import Action
from services.executor.automation.sentences.matching import Outline
from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    Back,
    ClearState,
    CopyTextFrom,
    DoubleTapOn,
    EraseText,
    ExtendedWaitUntil,
    HideKeyboard,
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
    WaitForAnimationToEnd,
)
from services.flows.selectors import Selector
from services.flows.steps import Command, Repeat, Retry, RunFlow, Sentence

HOLDERS = (RunFlow, Repeat, Retry)
"""Commands that hold other steps: each of those is a step of its own."""


@dataclass(frozen=True, slots=True)
class Foretold:
    """As `Grounding`; `action` may also be a `Doing`, of commands that sentences do not have."""

    action: str = Action.NONE
    element: Element | None = None
    value: str | None = None
    candidates: tuple[Element, ...] = ()
    reason: Reason | None = None
    message: str = ""


def foretell(command: Command, tree: Element) -> Foretold:
    """What the command or sentence would do on this screen, which is not for one of HOLDERS to tell."""
    if isinstance(command, Sentence):
        said = ground(command.text, tree)
        return Foretold(said.action, said.element, said.value, said.candidates, said.reason, said.message)
    return _on_elements(command, Outline(tree)) or _at_large(command)


def _on_elements(command: Command, outline: Outline) -> Foretold | None:
    match command:
        case TapOn(selector=Selector() as selector):
            return _needing(Action.TAP, selector, outline)
        case DoubleTapOn(selector=Selector() as selector):
            return _needing(Action.DOUBLE_TAP, selector, outline)
        case LongPressOn(selector=Selector() as selector):
            return _needing(Action.LONG_PRESS, selector, outline)
        case CopyTextFrom(selector):
            return _needing(Doing.COPY_TEXT, selector, outline)
        case Swipe(source=Selector() as selector):
            return _needing(Action.SWIPE, selector, outline, _course(command))
        case InputText(text):
            return _typing(Action.TYPE, outline, text)
        case PasteText():
            return _typing(Action.TYPE, outline, None)
        case EraseText():
            return _typing(Action.CLEAR, outline, None)
        case _:
            return _looking(command, outline)


def _looking(command: Command, outline: Outline) -> Foretold | None:
    match command:
        case AssertVisible(selector):
            return _awaiting(Action.ASSERT_VISIBLE, selector, outline)
        case AssertNotVisible(selector) | ExtendedWaitUntil(visible=None, not_visible=Selector() as selector):
            return _absent(selector, outline)
        case ExtendedWaitUntil(visible=Selector() as selector):
            return _awaiting(Action.WAIT_FOR, selector, outline)
        case ScrollUntilVisible(selector=selector, direction=direction):
            return _awaiting(Action.SCROLL_UNTIL_VISIBLE, selector, outline, direction)
        case _:
            return None


def _at_large(command: Command) -> Foretold:
    """What is done to the screen, the app or the device as a whole."""
    match command:
        case TapOn(point=point) | DoubleTapOn(point=point) | LongPressOn(point=point):
            return Foretold(action=_TOUCHES[type(command)], value=str(point))
        case PressKey("back") | Back():
            return Foretold(action=Action.BACK)
        case PressKey(key):
            return Foretold(action=Action.PRESS_KEY, value=key)
        case LaunchApp(app_id=app_id):
            return Foretold(action=Action.LAUNCH_APP, value=app_id)
        case StopApp(app_id):
            return Foretold(action=Action.STOP_APP, value=app_id)
        case ClearState(app_id):
            return Foretold(action=Doing.CLEAR_STATE, value=app_id)
        case TakeScreenshot(name):
            return Foretold(action=Action.SCREENSHOT, value=name)
        case Swipe():
            return Foretold(action=Action.SWIPE, value=_course(command))
        case Scroll():
            return Foretold(action=Action.SCROLL, value="down")
        case HideKeyboard():
            return Foretold(action=Action.HIDE_KEYBOARD)
        case OpenLink(link):
            return Foretold(action=Action.OPEN_LINK, value=link)
        case _:
            return _beside_the_screen(command)


_TOUCHES = {TapOn: Action.TAP, DoubleTapOn: Action.DOUBLE_TAP, LongPressOn: Action.LONG_PRESS}


def _beside_the_screen(command: Command) -> Foretold:
    match command:
        case SetClipboard(text):
            return Foretold(action=Doing.SET_CLIPBOARD, value=text)
        case AssertTrue(value=value):
            return Foretold(action=Doing.ASSERT_TRUE, value=value)
        case WaitForAnimationToEnd():
            return Foretold(action=Doing.WAIT_UNTIL_STILL)
        case SetLocation() | SetOrientation():
            action = Doing.SET_LOCATION if isinstance(command, SetLocation) else Doing.SET_ORIENTATION
            return Foretold(action=action, value=command.subject)
        case _:
            raise AssertionError(f"{type(command).__name__} holds steps")


def _course(swipe: Swipe) -> str:
    return swipe.direction or f"{swipe.start} to {swipe.end}"


def _needing(action: str, selector: Selector, outline: Outline, value: str | None = None) -> Foretold:
    """For what needs the element: the first that fits, as when the step runs."""
    found = select(selector, outline)
    if not found:
        return Foretold(reason=Reason.NOT_FOUND, message=f"nothing on the screen is {selector}")
    more = f"{len(found)} elements fit: the first is taken; say which by index or a position" if found[1:] else ""
    return Foretold(
        action=action, element=found[0], value=value, candidates=tuple(found[:SHOWN_CANDIDATES]), message=more
    )


def _awaiting(action: str, selector: Selector, outline: Outline, value: str | None = None) -> Foretold:
    """For what may also be still to come."""
    found = select(selector, outline)
    return Foretold(
        action=action,
        element=found[0] if found else None,
        value=value,
        candidates=tuple(found[:SHOWN_CANDIDATES]),
        message="" if found else f"{selector} is not on this screen",
    )


def _absent(selector: Selector, outline: Outline) -> Foretold:
    found = select(selector, outline)
    return Foretold(
        action=Action.ASSERT_NOT_VISIBLE,
        element=found[0] if found else None,
        candidates=tuple(found[:SHOWN_CANDIDATES]),
        message=f"{selector} is on this screen" if found else "",
    )


def _typing(action: str, outline: Outline, text: str | None) -> Foretold:
    """Into the field that has the focus; which one that is, not every source says."""
    focused = next((each for each in walk(outline.root) if each.editable and each.focused), None)
    message = "" if focused else "no field is said to have the focus: tap one before"
    return Foretold(action=action, element=focused, value=text, message=message)
