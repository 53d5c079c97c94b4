"""The device actions that a model may call on an element list, and what each means."""

from services.executor.automation.elements import Element
from services.executor.automation.llm.listing import Listing
from services.executor.automation.llm.permits import links
from services.executor.automation.llm.tools import Called, Parameter, Refused, Tool
from services.executor.automation.ports import Answer, Cannot, Done
from services.executor.automation.sentences.grounder import ground
from services.executor.automation.sentences.intents import Action

DIRECTIONS = ("up", "down", "left", "right")
KEYS = ("enter", "tab", "space", "backspace", "delete", "escape", "search")
"""None that leaves the app."""
TEXT_LIMIT = 2_000
WAIT_LIMIT_SECONDS = 10

_ELEMENT = Parameter(type="integer", about="the number n of an element on the screen as it is now", least=1)
_DIRECTION = Parameter(type="string", about="where to", choices=DIRECTIONS)
_WHY = Parameter(type="string", about="in one short sentence", optional=True, most=TEXT_LIMIT)

GENERAL = (
    Tool("scroll", "Scroll the screen to see what is further in this direction.", {"direction": _DIRECTION}),
    Tool("press_key", "Press a key.", {"key": Parameter(type="string", about="the key", choices=KEYS)}),
    Tool("back", "Go back, as by the system's back button."),
    Tool("hide_keyboard", "Hide the keyboard."),
    Tool(
        "wait",
        "Wait for a screen that is not complete yet.",
        {"seconds": Parameter(type="number", about="how long", least=0, most=WAIT_LIMIT_SECONDS)},
    ),
    Tool("launch_app", "Start the app under test anew."),
    Tool("stop_app", "Stop the app under test."),
    Tool("done", "The step is carried out, or what it checks is so: end it.", {"why": _WHY}),
    Tool(
        "cannot",
        "The step cannot be carried out, or what it checks is not so: end it as failed.",
        {"why": Parameter(type="string", about="what is in the way, in one short sentence", most=TEXT_LIMIT)},
    ),
)
TYPED = Parameter(type="string", about="what to type", least=1, most=TEXT_LIMIT)

_TOUCHES = {
    Action.TAP: "Tap an element.",
    Action.DOUBLE_TAP: "Tap an element twice.",
    Action.LONG_PRESS: "Press an element for a second.",
    Action.CLEAR: "Remove all text from a field.",
}
_CHECKS = {
    Action.ASSERT_VISIBLE: "Check that an element is to be seen.",
    Action.ASSERT_ENABLED: "Check that an element is enabled.",
    Action.ASSERT_DISABLED: "Check that an element is disabled.",
    Action.ASSERT_CHECKED: "Check that an element is checked.",
    Action.ASSERT_UNCHECKED: "Check that an element is unchecked.",
}

ON_ELEMENTS = (
    *(Tool(str(action), about, {"element": _ELEMENT}) for action, about in (_TOUCHES | _CHECKS).items()),
    Tool("type", "Type at the end of what a field holds.", {"element": _ELEMENT, "text": TYPED}),
    Tool("swipe", "Swipe from the middle of an element.", {"element": _ELEMENT, "direction": _DIRECTION}),
    Tool("assert_text", "Check that an element has exactly this text.", {"element": _ELEMENT, "text": TYPED}),
    Tool(
        "assert_not_visible",
        "Check that no element has exactly this text.",
        {"text": Parameter(type="string", about="the text", least=1, most=TEXT_LIMIT)},
    ),
)

_TO_VALUE = {"scroll": "direction", "press_key": "key"}


def link_tool(goal: str) -> tuple[Tool, ...]:
    """Opening links, only those that the step itself names."""
    named = links(goal)
    if not named:
        return ()
    return (Tool("open_link", "Open a link.", {"url": Parameter(type="string", about="the link", choices=named)}),)


def general(called: Called) -> Answer | Done | Cannot | None:
    """What needs no place on the screen; None for the rest."""
    match called.name:
        case "done":
            return Done(called.text("why"))
        case "cannot":
            return Cannot(called.text("why"))
        case "open_link":
            return Answer(Action.OPEN_LINK, value=called.text("url"))
        case "wait":
            return Answer(Action.WAIT_FOR, value=f"{float(called.arguments['seconds']):g}")
        case "scroll" | "press_key" | "back" | "hide_keyboard" | "launch_app" | "stop_app":
            value = called.text(_TO_VALUE[called.name]) if called.name in _TO_VALUE else None
            return Answer(Action(called.name), value=value)
        case _:
            return None


def on_element(called: Called, listing: Listing, tree: Element) -> Answer:
    """A call on an element of the listing of this screen; Refused when there is none, or when it cannot be meant."""
    if called.name == "assert_not_visible":
        return _absent(called.text("text"), tree)
    number = int(called.arguments["element"])
    element = listing.element(number)
    if element is None:
        raise Refused(f"there is no element {number} on the screen; its elements are 1 to {len(listing.elements)}")
    action = Action(called.name)
    if action in (Action.TYPE, Action.CLEAR) and not element.editable:
        raise Refused(f"element {number} is a {element.role} and no field")
    value = called.text("direction") or called.text("text") or None
    return Answer(action, element, value)


def _absent(text: str, tree: Element) -> Answer:
    """As the rules see it, on all of the screen; what they are not certain of is refused."""
    if '"' in text:
        raise Refused("the text has a quote in it; choose one without")
    grounding = ground(f'I do not see "{text}"', tree)
    if grounding.action is not Action.ASSERT_NOT_VISIBLE:
        raise Refused(grounding.message)
    return Answer(Action.ASSERT_NOT_VISIBLE, grounding.element, text)
