"""The device actions that a model may call on a picture of the screen, by cells of a grid or by pixels."""

from services.executor.automation.elements import Point
from services.executor.automation.llm.actions import DIRECTIONS, TYPED
from services.executor.automation.llm.picturing import Picture
from services.executor.automation.llm.tools import Called, Parameter, Refused, Tool
from services.executor.automation.ports import Answer
from services.executor.automation.sentences.intents import Action

_CELL = Parameter(type="string", about='a cell of the grid, such as "C4"; its middle is meant', optional=True, most=4)
_PIXELS = {
    "x": Parameter(type="number", about="pixels from the left of the picture", optional=True, most=1_000_000),
    "y": Parameter(type="number", about="pixels from the top of the picture", optional=True, most=1_000_000),
}
_ABOUT = {
    Action.TAP: "Tap a place.",
    Action.DOUBLE_TAP: "Tap a place twice.",
    Action.LONG_PRESS: "Press a place for a second.",
    Action.CLEAR: "Tap a field and remove all text from it.",
}


def by_picture(*, grid: bool) -> tuple[Tool, ...]:
    """The tools; cells can be named where there is a grid."""
    place = {"cell": _CELL, **_PIXELS} if grid else _PIXELS
    direction = Parameter(type="string", about="where to", choices=DIRECTIONS)
    return (
        *(Tool(str(action), about, place) for action, about in _ABOUT.items()),
        Tool("type", "Tap a field and type at the end of what it holds.", {**place, "text": TYPED}),
        Tool("swipe", "Swipe from a place.", {**place, "direction": direction}),
    )


def at_place(called: Called, picture: Picture) -> Answer:
    """A call at a place of the picture; Refused when there is no such place."""
    value = called.text("direction") or called.text("text") or None
    return Answer(Action(called.name), None, value, _place(called, picture))


def _place(called: Called, picture: Picture) -> Point:
    cell, x, y = called.text("cell"), called.arguments.get("x"), called.arguments.get("y")
    if cell:
        point = picture.cell(cell)
        if point is None:
            raise Refused(f"there is no cell {cell!r}; there are A1 to {picture.last_cell}")
        return point
    if x is None or y is None:
        raise Refused("say where: x and y" + (", or cell" if picture.rows else ""))
    point = picture.at(float(x), float(y))
    if point is None:
        raise Refused(f"{x}, {y} is outside of the picture, which has {picture.width} x {picture.height} pixels")
    return point
