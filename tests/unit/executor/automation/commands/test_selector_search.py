"""Selectors find the elements that Maestro would find."""

from random import Random

import pytest

from services.executor.automation.commands.selector_search import find_by_selector
from services.executor.automation.screen.elements import Bounds, Element, Role
from services.executor.automation.screen.outline import Outline
from services.flows.commands import TapOn
from services.flows.loader import parse_flow
from services.flows.patterns import WorkBudgetExceeded
from tests.fakes.devices import names, screen


def box(text: str, x: float = 0, y: float = 0, **fields: object) -> Element:
    return Element(role=Role.TEXT, text=text, bounds=Bounds(x, y, 50, 20), **fields)  # type: ignore[arg-type]


def found(selector: object, *elements: Element) -> list[str]:
    (step,) = parse_flow([{"tapOn": selector}]).steps
    assert isinstance(step.command, TapOn)
    return names(find_by_selector(step.command.selector, Outline(screen(*elements))))


def test_texts_match_as_a_whole_in_any_case_on_text_label_and_hint() -> None:
    elements = (
        box("Log in"),
        box("Log in now"),
        Element(label="LOG IN", id="a"),
        Element(role=Role.FIELD, hint="log in", id="b"),
    )
    assert found("log in", *elements) == ["log in", "Log in", "LOG IN"]
    assert found("log in.*", *elements) == ["log in", "Log in", "Log in now", "LOG IN"]


def test_ids_match_with_and_without_their_package() -> None:
    elements = (box("a", id="com.shop:id/total"), box("b", id="subtotal"))
    assert found({"id": "total"}, *elements) == ["a"]
    assert found({"id": "com.shop:id/total"}, *elements) == ["a"]
    assert found({"id": ".*total"}, *elements) == ["a", "b"]


def test_elements_of_a_page_match_the_css_selectors_that_the_browser_found_for_them() -> None:
    elements = (
        box("Total", css=frozenset({"#total"})),
        box("Other", css=frozenset({".other"}), y=40),
        box("Plain", y=80),
    )
    assert found({"css": "#total"}, *elements) == ["Total"]
    assert found({"css": "#total", "text": "Other"}, *elements) == []
    assert found({"text": "Plain", "below": {"css": ".other"}}, *elements) == ["Plain"]


def test_states_must_fit() -> None:
    on, off, plain = box("on", checked=True), box("off", checked=False, enabled=False), box("plain", focused=True)
    elements = (on, off, plain)
    assert found({"text": ".*", "checked": True}, *elements) == ["on"]
    assert found({"text": ".*", "checked": False}, *elements) == ["off", "plain"]
    assert found({"text": ".*", "enabled": False}, *elements) == ["off"]
    assert found({"focused": True}, *elements) == ["plain"]
    assert found({"selected": True}, *elements) == []


def test_tappable_elements_come_first_and_the_index_counts_from_the_top() -> None:
    low = Element(role=Role.BUTTON, text="Pay", id="low", bounds=Bounds(0, 100, 50, 20))
    high = box("Pay", y=10, id="high")
    assert [element.id for element in select_all({"text": "Pay"}, high, low)] == ["low", "high"]
    assert [element.id for element in select_all({"text": "Pay", "index": 0}, low, high)] == ["high"]
    assert [element.id for element in select_all({"text": "Pay", "index": 1}, low, high)] == ["low"]
    assert select_all({"text": "Pay", "index": 2}, low, high) == []


def select_all(selector: object, *elements: Element) -> list[Element]:
    (step,) = parse_flow([{"tapOn": selector}]).steps
    assert isinstance(step.command, TapOn)
    return find_by_selector(step.command.selector, Outline(screen(*elements)))


def test_of_nested_elements_the_innermost_counts() -> None:
    inner = box("Pay")
    assert select_all("Pay", Element(label="Pay", children=(inner,))) == [inner]


def test_relative_positions_prefer_the_nearest() -> None:
    elements = (
        box("Title", y=0),
        box("far", y=200),
        box("near", y=40),
        box("left", x=0, y=100),
        box("right", x=90, y=100),
    )
    assert found({"text": "near|far", "below": "Title"}, *elements) == ["near", "far"]
    assert found({"text": "near|far", "above": "left"}, *elements) == ["near"]
    assert found({"text": ".*", "rightOf": "left"}, *elements) == ["right"]
    assert found({"text": "left", "leftOf": "right"}, *elements) == ["left"]
    assert found({"text": ".*", "below": "Nowhere"}, *elements) == []


def test_parents_and_children() -> None:
    row = Element(role=Role.CELL, id="row", children=(box("Blue mug"), box("Add")))
    other = Element(role=Role.CELL, id="other", children=(box("Red mug"), box("Add")))
    assert len(select_all("Add", row, other)) == 2
    assert select_all({"text": "Add", "childOf": {"id": "other"}}, row, other) == [other.children[1]]
    assert select_all({"containsChild": "Blue mug"}, row, other) == [row]


def test_the_screen_contains_everything() -> None:
    row = Element(role=Role.CELL, id="row", children=(box("Blue mug"), box("Add")))
    elements = (row, box("Basket"))
    everywhere = {"containsDescendants": ["Blue mug", "Basket"]}
    assert [element.id for element in select_all({"containsDescendants": ["Blue mug", "Add"]}, *elements)] == ["row"]
    assert len(select_all(everywhere, *elements)) == 1
    assert len(select_all({"containsChild": "Basket"}, *elements)) == 1
    assert select_all({"text": ".*", **everywhere}, *elements) == []


def test_nested_selectors_apply_too() -> None:
    mugs = (box("Mug", y=0), box("Add", y=30), box("Mug", y=100), box("Add", y=130))
    assert found({"text": "Add", "below": {"text": "Mug", "index": 1}}, *mugs) == ["Add"]
    (step,) = parse_flow([{"tapOn": {"text": "Add", "below": {"text": "Mug", "index": 1}}}]).steps
    assert isinstance(step.command, TapOn)
    assert step.command.selector is not None
    (chosen,) = find_by_selector(step.command.selector, Outline(screen(*mugs)))
    assert chosen.bounds.y == 130


def test_a_child_may_be_selected_by_its_position() -> None:
    first = Element(id="first", children=(box("Add", y=0),))
    second = Element(id="second", children=(box("Add", y=50),))
    elements = (first, box("Mug", y=30), second)
    assert found({"containsChild": {"text": "Add", "below": "Mug"}}, *elements) == ["second"]
    assert found({"containsDescendants": [{"text": "Add", "below": "Mug"}]}, *elements) == ["second"]


def nested(depth: int) -> dict[str, object]:
    sides = ("below", "above", "leftOf", "rightOf")
    return {"text": ".*", **{side: nested(depth - 1) for side in sides if depth}}


@pytest.mark.parametrize("selector", [nested(5), "(a|b)*a[ab]{300}", "(.*a.*){100}z"])
def test_a_selector_beyond_the_work_budget_is_refused(selector: object) -> None:
    """A search for each of these would take minutes on this screen."""
    chance = Random(str(selector))
    texts = ["".join(chance.choices("ab", k=400)) for _ in range(500)]
    with pytest.raises(WorkBudgetExceeded):
        found(selector, *(box(text, y=y) for y, text in enumerate(texts)))


def test_a_negative_index_counts_from_the_bottom() -> None:
    elements = [box("a", y=place, id=str(place)) for place in (40, 0, 80)]
    (step,) = parse_flow([{"tapOn": {"text": "a", "index": -1}}]).steps
    assert isinstance(step.command, TapOn)
    assert [each.id for each in find_by_selector(step.command.selector, Outline(screen(*elements)))] == ["80"]
    assert found({"text": "a", "index": -4}, *elements) == []


def test_traits_select_by_text_length_and_shape() -> None:
    elements = (Element(id="icon", bounds=Bounds(0, 0, 100, 102)), box("x" * 201, y=200), box("short", y=300))
    assert found({"traits": "text"}, *elements) == ["x" * 201, "short"]
    assert found({"traits": "long-text"}, *elements) == ["x" * 201]
    assert found({"traits": "square", "id": "icon"}, *elements) == ["icon"]
    assert found({"traits": "text square"}, *elements) == []
