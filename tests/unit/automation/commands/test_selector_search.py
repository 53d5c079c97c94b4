"""Selectors find the elements that Maestro would find."""

from random import Random

import pytest

from mobiletest_automation.commands.selector_search import describe_matches, explain_missing, find_by_selector
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.patterns import WorkBudgetExceeded
from mobiletest_automation.flows.selectors import Selector
from mobiletest_automation.flows.touch_commands import TapOn
from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.outline import Outline
from tests.fakes.devices import screen


def box(text: str, x: float = 0, y: float = 0, **fields: object) -> Element:
    return Element(role=Role.TEXT, text=text, bounds=Bounds(x, y, 50, 20), **fields)  # type: ignore[arg-type]


def held(identifier: str, *children: Element, **fields: object) -> Element:
    return Element(role=Role.CELL, id=identifier, children=children, **fields)  # type: ignore[arg-type]


def clickable(text: str, x: float = 0, y: float = 0, **fields: object) -> Element:
    return box(text, x, y, clickable=True, **fields)


def selector_of(written: object) -> Selector:
    (step,) = parse_flow([{"tapOn": written}]).steps
    assert isinstance(step.command, TapOn)
    assert step.command.selector is not None
    return step.command.selector


def find(selector: object, *elements: Element) -> list[Element]:
    return find_by_selector(selector_of(selector), Outline(screen(*elements)))


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
PAYS = (box("Pay", y=10, id="high"), clickable("Pay", y=100, id="low"))
CHANGES = (
    *(box("Loaf"), clickable("Change", x=400, id="loaf"), box("Roll", y=100)),
    *(clickable("Change", x=400, y=100, id="roll"), box("Sum", y=800)),
)
PLAIN = (held("card", box("Title", y=10), bounds=Bounds(0, 10, 90, 90)), box("Sum", y=200))
SHELVES = (
    held("shelf", box("Rye"), box("Price", y=5, id="1")),
    held("shelf", box("Sold out", y=50), box("Price", y=60, id="2"), box("Rye", y=70, id="late")),
)
CALLED_CHECKED = (box("a", attributes={"checked": "true"}), box("b", tag="b", attributes={"checked": "true"}))
NESTED = (
    held("outer", held("inner", box("Rye"), box("Spelt")), box("Bread")),
    held("row", held("deep", box("Rye"), box("Bread"))),
)
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
    ("elements", "selector", "expected"),
    [
        # Texts match as a whole, in any case, on text, label and hint.
        (TEXTS, "log in", ["Log in", "a", "b"]),
        (TEXTS, "log in.*", ["Log in", "Log in now", "a", "b"]),
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
        # Clickable elements come first; the index counts from the top, or from the bottom.
        (PAYS, {"text": "Pay"}, ["low", "high"]),
        (PAYS, {"text": "Pay", "index": 0}, ["high"]),
        (PAYS, {"text": "Pay", "index": 1}, ["low"]),
        (PAYS, {"text": "Pay", "index": 2}, []),
        (PAYS, {"text": "Pay", "index": -1}, ["low"]),
        (PAYS, {"text": "Pay", "index": -3}, []),
        # Of nested elements the innermost counts.
        ((Element(label="Pay", id="outer", children=(box("Pay"),)),), "Pay", ["Pay"]),
        # Of several in a direction the first in the source counts, clickable ones before others.
        (PLACES, {"text": "near|far", "below": "Title"}, ["far", "near"]),
        (CHANGES, {"text": "Change", "above": "Sum"}, ["loaf", "roll"]),
        (CHANGES, {"text": "Change", "rightOf": "Sum"}, ["loaf", "roll"]),
        (CHANGES, {"text": "Change|Loaf|Roll", "above": "Sum"}, ["loaf", "roll", "Loaf", "Roll"]),
        (CHANGES, {"text": "Change", "above": "Sum", "index": 1}, ["roll"]),
        # With a position alone all elements count, containers too, and what is in them.
        (PLAIN, {"above": "Sum"}, ["card", "Title"]),
        (PLAIN, {"below": {"id": "card"}}, ["Sum"]),
        (PLAIN, {"above": "Sum", "index": -1}, ["Title"]),
        (PLACES, {"text": "near|far", "above": "left"}, ["near"]),
        (PLACES, {"text": ".*", "rightOf": "left"}, ["right"]),
        (PLACES, {"text": "left", "leftOf": "right"}, ["left"]),
        (PLACES, {"text": ".*", "below": "Nowhere"}, []),
        (MUGS, {"text": "Add", "below": {"text": "Mug", "index": 1}}, ["2"]),
        (ROWS, "Add", ["add blue", "add red"]),
        (ROWS, {"text": "Add", "childOf": {"id": "red"}}, ["add red"]),
        (ROWS, {"containsChild": "Blue mug"}, ["blue"]),
        # A child is searched in the first container, with all that the selector says of other elements.
        (SHELVES, {"text": "Sold out", "childOf": {"id": "shelf"}}, []),
        (SHELVES, {"text": "Sold out", "childOf": {"id": "shelf", "index": 1}}, ["Sold out"]),
        (SHELVES, {"text": "Sold out", "childOf": {"id": "shelf", "containsChild": "Sold out"}}, ["Sold out"]),
        (SHELVES, {"text": "Price", "below": "Rye", "childOf": {"id": "shelf"}}, ["1"]),
        (SHELVES, {"text": "Price", "below": "Sold out", "childOf": {"id": "shelf"}}, []),
        (SHELVES, {"text": "Rye", "below": {"text": "Price", "childOf": {"id": "shelf"}}}, ["late"]),
        (SHELVES, {"childOf": {"id": "shelf"}, "index": 0}, ["shelf"]),
        (NESTED, {"text": "Bread", "childOf": {"id": "deep", "childOf": {"id": "row"}}}, ["Bread"]),
        (NESTED, {"text": "Bread", "childOf": {"id": "deep", "childOf": {"id": "outer"}}}, []),
        (NESTED, {"id": "outer|row", "containsDescendants": ["Rye", "Bread"]}, ["outer", "row"]),
        (NESTED, {"id": "outer|row", "containsChild": {"id": "deep"}}, ["row"]),
        (NESTED, {"childOf": {"id": "deep"}, "containsDescendants": ["Spelt"]}, []),
        # An index of a descendant says how many there have to be, in one element inside.
        (NESTED, {"id": "outer|row", "containsDescendants": [{"text": "Rye", "index": -1}]}, ["outer", "row"]),
        (NESTED, {"id": "outer|row", "containsDescendants": [{"text": "Rye|Spelt", "index": 1}]}, ["outer"]),
        (NESTED, {"id": "outer|row", "containsDescendants": [{"text": "Rye|Spelt", "index": 2}]}, []),
        (CALLED_CHECKED, {"checked": True}, ["a"]),
        (CALLED_CHECKED, {"text": "a|b", "checked": False}, ["b"]),
        (BESIDE_MUG, {"containsChild": {"text": "Add", "below": "Mug"}}, ["second"]),
        (BESIDE_MUG, {"containsDescendants": [{"text": "Add", "below": "Mug"}]}, ["second"]),
        # The screen contains everything, and is called nothing.
        (ROW_AND_TEXT, {"containsDescendants": ["Blue mug", "Add"]}, ["blue"]),
        (ROW_AND_TEXT, EVERYWHERE, [""]),
        (ROW_AND_TEXT, {"containsChild": "Basket"}, [""]),
        (ROW_AND_TEXT, {"containsChild": "Basket", "index": 0}, []),
        (ROW_AND_TEXT, {"text": ".*", **EVERYWHERE}, []),
        (TRAITS, {"traits": "text"}, [LONG, "short"]),
        (TRAITS, {"traits": "long-text"}, [LONG]),
        (TRAITS, {"traits": "square", "id": "icon"}, ["icon"]),
        (TRAITS, {"traits": "text square"}, []),
    ],
)
def test_a_selector_finds(elements: tuple[Element, ...], selector: object, expected: list[str]) -> None:
    assert [each.id or each.text for each in find(selector, *elements)] == expected


EMPTY = (
    Element(id="a", attributes={"text": "", "resource-id": "a", "content-desc": ""}),
    Element(id="b", attributes={"type": "XCUIElementTypeOther"}),
    Element(tag="p", id="c", attributes={"id": "c"}),
    Element(id="d", attributes={"content-desc": "?"}),
    box("e"),
)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"text": ".*"}, "abce"),
        ({"text": "|x"}, "abc"),
        ({"text": ".+"}, "e"),
        ({"traits": "text"}, "abce"),
    ],
)
def test_a_pattern_that_matches_the_empty_text_matches_an_empty_element_text(selector: object, expected: str) -> None:
    assert "".join(each.id or each.text for each in find(selector, *EMPTY)) == expected


def test_a_pattern_that_matches_the_empty_text_matches_an_empty_id() -> None:
    android, ios = box("a", attributes={"resource-id": ""}), box("b", attributes={"type": "XCUIElementTypeOther"})
    others = (box("c", tag="p"), box("d", attributes={"class": "android.view.View"}), box("e", id="e"))
    assert [each.text for each in find({"id": "x?"}, android, ios, *others)] == ["a", "b"]
    assert [each.text for each in find({"id": ".*"}, android, ios, *others)] == ["a", "b", "e"]


THIN = (box("Rye"), Element(id="end", bounds=Bounds(0, 400, 360, 0)), box("Hidden text", visible=False))


def test_a_line_is_an_element_of_its_own() -> None:
    assert [each.id for each in find({"id": "end"}, *THIN)] == ["end"]
    assert [each.id for each in find({"below": "Rye"}, *THIN)] == ["end"]


WEB = (
    Element(tag="div", id="pay", text="1", attributes={"id": "node-1", "flt-semantics-identifier": "pay"}),
    Element(tag="button", text="2", attributes={"aria-label": "Basket"}),
    Element(tag="button", id="a", text="3", attributes={"id": "a", "title": "Help"}),
)


@pytest.mark.parametrize(
    ("name", "expected"), [("pay", ["1"]), ("node-1", ["1"]), ("Basket", ["2"]), ("a", ["3"]), ("Help", [])]
)
def test_ids_of_a_page(name: str, expected: list[str]) -> None:
    assert [each.text for each in find({"id": name}, *WEB)] == expected


@pytest.mark.parametrize(
    ("elements", "selector", "why"),
    [
        (SHELVES, {"text": "Sold out", "childOf": {"id": "shelves"}},
         'its container, id "shelves", is not on the screen, but "Sold out" is; did you mean shelf?'),
        (SHELVES, {"text": "Cake", "childOf": {"id": "shelves"}},
         'its container, id "shelves", is not on the screen; did you mean shelf?'),
        (SHELVES, {"text": "Sold out", "childOf": {"id": "shelf"}},
         'its container, cell "shelf" (the first of 2 that match), does not contain it,'
         " but it is elsewhere on the screen"),
        (ROWS, {"text": "Cake", "childOf": {"id": "red"}}, 'its container, cell "red", does not contain it'),
        (SHELVES, {"text": "Price", "below": "Sold out", "childOf": {"id": "shelf"}},
         'in its container, cell "shelf": what it must be below, "Sold out", is not on the screen'),
        (MUGS, {"text": "Add", "rightOf": "Mugg"},
         'what it must be right of, "Mugg", is not on the screen; did you mean Mug?'),
        (NESTED, {"text": "Rye", "childOf": {"id": "inner", "childOf": {"id": "nothing"}}},
         'its container, id "inner", child of (id "nothing"), is not on the screen, but "Rye" is:'
         ' its container, id "nothing", is not on the screen, but id "inner" is'),
        (ROWS, {"id": "blue", "containsDescendants": ["Add", "Green mug"]},
         'what it must contain, "Green mug", is not on the screen; did you mean Red mug?'),
        (ROWS, "Cake", ""),
    ],
)  # fmt: skip
def test_why_nothing_matches(elements: tuple[Element, ...], selector: object, why: str) -> None:
    assert explain_missing(selector_of(selector), Outline(screen(*elements))) == why


def test_the_explanation_of_a_missing_element_is_bounded() -> None:
    assert explain_missing(selector_of(nested(5)), Outline(screen(*(box("a", y=y) for y in range(500))))) == ""


def test_several_matches_are_named() -> None:
    assert describe_matches(find("Change", CHANGES[1])) == ""
    assert describe_matches(find("Change", *CHANGES)) == (
        '2 elements match, the first is used: text "Change" at 425, 10; not text "Change" at 425, 110:'
        " add an index or a position to choose another"
    )
    many = describe_matches([box("x" * 5_000, y=y) for y in range(900)])
    assert many.startswith("900 elements match")
    assert many.count(" at ") == 5
    assert len(many) < 1_000


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
