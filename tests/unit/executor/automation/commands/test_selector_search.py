"""Selectors find the elements that Maestro would find."""

from random import Random

import pytest

from services.executor.automation.commands.selector_search import find_by_selector
from services.executor.automation.screen.elements import Bounds, Element, Role
from services.executor.automation.screen.outline import Outline
from services.flows.commands import TapOn
from services.flows.loader import parse_flow
from services.flows.patterns import WorkBudgetExceeded
from tests.fakes.devices import screen


def box(text: str, x: float = 0, y: float = 0, **fields: object) -> Element:
    return Element(role=Role.TEXT, text=text, bounds=Bounds(x, y, 50, 20), **fields)  # type: ignore[arg-type]


def held(identifier: str, *children: Element) -> Element:
    return Element(role=Role.CELL, id=identifier, children=children)


def find(selector: object, *elements: Element) -> list[Element]:
    (step,) = parse_flow([{"tapOn": selector}]).steps
    assert isinstance(step.command, TapOn)
    return find_by_selector(step.command.selector, Outline(screen(*elements)))


TEXTS = (
    box("Log in"),
    box("Log in now"),
    Element(label="LOG IN", id="a"),
    Element(role=Role.FIELD, hint="log in", id="b"),
)
IDS = (box("a", id="com.shop:id/total"), box("b", id="subtotal"))
PAGE = (box("a", css=frozenset({"#total"})), box("b", css=frozenset({".other"}), y=40), box("c", y=80))
STATES = (box("on", checked=True), box("off", checked=False, enabled=False), box("plain", focused=True))
PLACES = (
    *(box("Title", y=0), box("far", y=200), box("near", y=40)),
    *(box("left", x=0, y=100), box("right", x=90, y=100)),
)
PAYS = (box("Pay", y=10, id="high"), Element(role=Role.BUTTON, text="Pay", id="low", bounds=Bounds(0, 100, 50, 20)))
ROWS = (
    held("blue", box("Blue mug", id="name"), box("Add", id="add blue")),
    held("red", box("Red mug"), box("Add", id="add red")),
)
ROW_AND_TEXT = (ROWS[0], box("Basket"))
MUGS = (box("Mug", y=0), box("Add", y=30, id="1"), box("Mug", y=100), box("Add", y=130, id="2"))
BESIDE_MUG = (held("first", box("Add", y=0)), box("Mug", y=30), held("second", box("Add", y=50)))
LONG = "x" * 201
TRAITS = (Element(id="icon", bounds=Bounds(0, 0, 100, 102)), box(LONG, y=200), box("short", y=300))
EVERYWHERE = {"containsDescendants": ["Blue mug", "Basket"]}


@pytest.mark.parametrize(
    ("elements", "selector", "found"),
    [
        # Texts match as a whole, in any case, on text, label and hint.
        (TEXTS, "log in", ["b", "Log in", "a"]),
        (TEXTS, "log in.*", ["b", "Log in", "Log in now", "a"]),
        # Ids match with and without their package.
        (IDS, {"id": "total"}, ["com.shop:id/total"]),
        (IDS, {"id": "com.shop:id/total"}, ["com.shop:id/total"]),
        (IDS, {"id": ".*total"}, ["com.shop:id/total", "subtotal"]),
        # Elements of a page match the CSS selectors that the browser found for them.
        (PAGE, {"css": "#total"}, ["a"]),
        (PAGE, {"css": "#total", "text": "b"}, []),
        (PAGE, {"text": "c", "below": {"css": ".other"}}, ["c"]),
        (STATES, {"text": ".*", "checked": True}, ["on"]),
        (STATES, {"text": ".*", "checked": False}, ["off", "plain"]),
        (STATES, {"text": ".*", "enabled": False}, ["off"]),
        (STATES, {"focused": True}, ["plain"]),
        (STATES, {"selected": True}, []),
        # Tappable elements come first; the index counts from the top, or from the bottom.
        (PAYS, {"text": "Pay"}, ["low", "high"]),
        (PAYS, {"text": "Pay", "index": 0}, ["high"]),
        (PAYS, {"text": "Pay", "index": 1}, ["low"]),
        (PAYS, {"text": "Pay", "index": 2}, []),
        (PAYS, {"text": "Pay", "index": -1}, ["low"]),
        (PAYS, {"text": "Pay", "index": -3}, []),
        # Of nested elements the innermost counts.
        ((Element(label="Pay", id="outer", children=(box("Pay"),)),), "Pay", ["Pay"]),
        # Relative positions prefer the nearest.
        (PLACES, {"text": "near|far", "below": "Title"}, ["near", "far"]),
        (PLACES, {"text": "near|far", "above": "left"}, ["near"]),
        (PLACES, {"text": ".*", "rightOf": "left"}, ["right"]),
        (PLACES, {"text": "left", "leftOf": "right"}, ["left"]),
        (PLACES, {"text": ".*", "below": "Nowhere"}, []),
        (MUGS, {"text": "Add", "below": {"text": "Mug", "index": 1}}, ["2"]),
        (ROWS, "Add", ["add blue", "add red"]),
        (ROWS, {"text": "Add", "childOf": {"id": "red"}}, ["add red"]),
        (ROWS, {"containsChild": "Blue mug"}, ["blue"]),
        (BESIDE_MUG, {"containsChild": {"text": "Add", "below": "Mug"}}, ["second"]),
        (BESIDE_MUG, {"containsDescendants": [{"text": "Add", "below": "Mug"}]}, ["second"]),
        # The screen contains everything, and is called nothing.
        (ROW_AND_TEXT, {"containsDescendants": ["Blue mug", "Add"]}, ["blue"]),
        (ROW_AND_TEXT, EVERYWHERE, [""]),
        (ROW_AND_TEXT, {"containsChild": "Basket"}, [""]),
        (ROW_AND_TEXT, {"text": ".*", **EVERYWHERE}, []),
        (TRAITS, {"traits": "text"}, [LONG, "short"]),
        (TRAITS, {"traits": "long-text"}, [LONG]),
        (TRAITS, {"traits": "square", "id": "icon"}, ["icon"]),
        (TRAITS, {"traits": "text square"}, []),
    ],
)
def test_a_selector_finds(elements: tuple[Element, ...], selector: object, found: list[str]) -> None:
    assert [each.id or each.text for each in find(selector, *elements)] == found


def nested(depth: int) -> dict[str, object]:
    sides = ("below", "above", "leftOf", "rightOf")
    return {"text": ".*", **{side: nested(depth - 1) for side in sides if depth}}


@pytest.mark.parametrize("selector", [nested(5), "(a|b)*a[ab]{300}", "(.*a.*){100}z"])
def test_a_selector_beyond_the_work_budget_is_refused(selector: object) -> None:
    """A search for each of these would take minutes on this screen."""
    chance = Random(str(selector))
    texts = ["".join(chance.choices("ab", k=400)) for _ in range(500)]
    with pytest.raises(WorkBudgetExceeded):
        find(selector, *(box(text, y=y) for y, text in enumerate(texts)))
