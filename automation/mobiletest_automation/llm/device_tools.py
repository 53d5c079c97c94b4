"""Tools by which a model acts on a device: on an element list or on a picture of the screen."""

import re

from mobiletest_automation.llm.chat_protocol import InvalidToolCall, Parameter, Tool, ValidToolCall
from mobiletest_automation.llm.element_list import ElementList
from mobiletest_automation.llm.screen_picture import ScreenPicture
from mobiletest_automation.model_ports import CannotContinue, TaskDone
from mobiletest_automation.ports import ChosenAction
from mobiletest_automation.screen.elements import Element, Point
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.intents import Action

DIRECTIONS = ("up", "down", "left", "right")
# Keys that do not leave the app.
KEYS = ("enter", "tab", "space", "backspace", "delete", "escape", "search")
TEXT_LIMIT = 2_000
WAIT_LIMIT_SECONDS = 10

_ELEMENT = Parameter(type="integer", about="the number n of an element on the screen as it is now", least=1)
_DIRECTION = Parameter(type="string", about="where to", choices=DIRECTIONS)
_WHY = Parameter(type="string", about="in one short sentence", optional=True, most=TEXT_LIMIT)

GENERAL_TOOLS = (
    Tool("scroll", "Scroll the screen to see what is further in this direction.", {"direction": _DIRECTION}),
    Tool("press_key", "Press a key.", {"key": Parameter(type="string", about="the key", choices=KEYS)}),
    Tool("back", "Go back, as by the system's back button."),
    Tool("hide_keyboard", "Hide the keyboard."),
    Tool(
        "wait",
        "Wait for a screen that is not complete yet.",
        {"seconds": Parameter(type="number", about="how long", least=0, most=WAIT_LIMIT_SECONDS)},
    ),
    Tool("launch_app", "Restart the app under test."),
    Tool("stop_app", "Stop the app under test."),
    Tool("done", "The step is carried out, or what it checks is so: end it.", {"why": _WHY}),
    Tool(
        "cannot",
        "The step cannot be carried out, or what it checks is not so: end it as failed.",
        {"why": Parameter(type="string", about="what is in the way, in one short sentence", most=TEXT_LIMIT)},
    ),
)
TYPED_TEXT = Parameter(type="string", about="what to type", least=1, most=TEXT_LIMIT)

_TOUCH_ACTIONS = {
    Action.TAP: "Tap an element.",
    Action.DOUBLE_TAP: "Tap an element twice.",
    Action.LONG_PRESS: "Press an element for a second.",
    Action.CLEAR: "Remove all text from a field.",
}
_CHECK_ACTIONS = {
    Action.ASSERT_VISIBLE: "Check that an element is visible.",
    Action.ASSERT_ENABLED: "Check that an element is enabled.",
    Action.ASSERT_DISABLED: "Check that an element is disabled.",
    Action.ASSERT_CHECKED: "Check that an element is checked.",
    Action.ASSERT_UNCHECKED: "Check that an element is unchecked.",
}

ELEMENT_TOOLS = (
    *(Tool(str(action), about, {"element": _ELEMENT}) for action, about in (_TOUCH_ACTIONS | _CHECK_ACTIONS).items()),
    Tool("type", "Type at the end of what a field holds.", {"element": _ELEMENT, "text": TYPED_TEXT}),
    Tool("swipe", "Swipe from the middle of an element.", {"element": _ELEMENT, "direction": _DIRECTION}),
    Tool("assert_text", "Check that an element has exactly this text.", {"element": _ELEMENT, "text": TYPED_TEXT}),
    Tool(
        "assert_not_visible",
        "Check that no element has exactly this text.",
        {"text": Parameter(type="string", about="the text", least=1, most=TEXT_LIMIT)},
    ),
)


def link_tools(goal: str) -> tuple[Tool, ...]:
    """A tool that opens the links that the step itself names; none if it names none."""
    named = find_links(goal)
    if not named:
        return ()
    return (Tool("open_link", "Open a link.", {"url": Parameter(type="string", about="the link", choices=named)}),)


def read_general_call(called: ValidToolCall) -> ChosenAction | TaskDone | CannotContinue | None:
    """The meaning of a call that needs no place on the screen; None for other calls."""
    match called.name:
        case "done":
            return TaskDone(called.text("why"))
        case "cannot":
            return CannotContinue(called.text("why"))
        case "open_link":
            return ChosenAction(Action.OPEN_LINK, value=called.text("url"))
        case "wait":
            return ChosenAction(Action.WAIT_FOR, value=f"{float(called.arguments['seconds']):g}")
        case "scroll" | "press_key" | "back" | "hide_keyboard" | "launch_app" | "stop_app":
            return ChosenAction(Action(called.name), value=called.text("direction") or called.text("key") or None)
        case _:
            return None


def read_element_call(called: ValidToolCall, listing: ElementList, tree: Element) -> ChosenAction:
    """The action of a call on a listed element.

    Raises:
        InvalidToolCall: there is none, or it does not fit.
    """
    if called.name == "assert_not_visible":
        return _check_absence(called.text("text"), tree)
    number = int(called.arguments["element"])
    element = listing.element(number)
    if element is None:
        raise InvalidToolCall(
            f"there is no element {number} on the screen; there are elements 1 to {len(listing.elements)}"
        )
    action = Action(called.name)
    if action in (Action.TYPE, Action.CLEAR) and not element.editable:
        raise InvalidToolCall(f"element {number} is a {element.role}, not a field")
    value = called.text("direction") or called.text("text") or None
    return ChosenAction(action, element, value)


def _check_absence(text: str, tree: Element) -> ChosenAction:
    """Checked by the rules on the whole screen. Raise InvalidToolCall if they are not certain."""
    if '"' in text:
        raise InvalidToolCall("the text contains a quote; choose one without")
    grounding = ground_sentence(f'I do not see "{text}"', tree)
    if grounding.action is not Action.ASSERT_NOT_VISIBLE:
        raise InvalidToolCall(grounding.message)
    return ChosenAction(Action.ASSERT_NOT_VISIBLE, grounding.element, text)


_LINK = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}:/{1,2}[^\s\"'“”‘’<>]+|\bwww\.[^\s\"'“”‘’<>]+", re.IGNORECASE | re.UNICODE)
_OTHER_SCHEMES = re.compile(
    r"\b(?:mailto|tel|sms|data|javascript|intent|file|about|market|itms\w*):\S+", re.IGNORECASE | re.UNICODE
)


def find_links(text: str) -> tuple[str, ...]:
    """The links in a text, without the punctuation that follows them."""
    links = [*_LINK.findall(text), *_OTHER_SCHEMES.findall(text)]
    return tuple(dict.fromkeys(link.rstrip(".,;:!?)]}") for link in links))


def links_not_in_goal(text: str, goal: str) -> tuple[str, ...]:
    """The links in the text that the goal does not name."""
    allowed = set(find_links(goal))
    return tuple(link for link in find_links(text) if link not in allowed)


_CELL = Parameter(type="string", about='a cell of the grid, such as "C4"; its middle is meant', optional=True, most=4)
_PIXELS = {
    "x": Parameter(type="number", about="pixels from the left of the picture", optional=True, most=1_000_000),
    "y": Parameter(type="number", about="pixels from the top of the picture", optional=True, most=1_000_000),
}
_PLACE_ACTIONS = {
    Action.TAP: "Tap a place.",
    Action.DOUBLE_TAP: "Tap a place twice.",
    Action.LONG_PRESS: "Press a place for a second.",
    Action.CLEAR: "Tap a field and remove all text from it.",
}


def picture_tools(*, grid: bool) -> tuple[Tool, ...]:
    """Tools that name places of a picture, with `grid` also by the cells of a grid."""
    place = {"cell": _CELL, **_PIXELS} if grid else _PIXELS
    return (
        *(Tool(str(action), about, place) for action, about in _PLACE_ACTIONS.items()),
        Tool("type", "Tap a field and type at the end of what it holds.", {**place, "text": TYPED_TEXT}),
        Tool("swipe", "Swipe from a place.", {**place, "direction": _DIRECTION}),
    )


def read_place_call(called: ValidToolCall, picture: ScreenPicture) -> ChosenAction:
    """The action of a call at a place of the picture.

    Raises:
        InvalidToolCall: there is no such place.
    """
    value = called.text("direction") or called.text("text") or None
    return ChosenAction(Action(called.name), None, value, _point_of(called, picture))


def _point_of(called: ValidToolCall, picture: ScreenPicture) -> Point:
    cell, x, y = called.text("cell"), called.arguments.get("x"), called.arguments.get("y")
    if cell:
        point = picture.cell(cell)
        if point is None:
            raise InvalidToolCall(f"there is no cell {cell!r}; there are cells A1 to {picture.last_cell}")
        return point
    if x is None or y is None:
        raise InvalidToolCall("give x and y" + (", or a cell" if picture.rows else ""))
    point = picture.at(float(x), float(y))
    if point is None:
        raise InvalidToolCall(f"{x}, {y} is outside the picture, which has {picture.width} x {picture.height} pixels")
    return point
