"""Which control and which value belong to a text: what one row, form or receipt shows together."""

from itertools import count

import pytest

from services.executor.automation.screen.elements import Bounds, Element, Role, walk
from services.executor.automation.screen.outline import Outline
from services.executor.automation.screen.row_labels import RowLabels


def text(name: str, x: float = 0, y: float = 0) -> Element:
    return Element(role=Role.TEXT, text=name, bounds=Bounds(x, y, 100, 20))


def switch(identifier: str = "switch", x: float = 300, y: float = 0) -> Element:
    return Element(role=Role.SWITCH, id=identifier, checked=False, bounds=Bounds(x, y, 40, 20))


def field(identifier: str, y: float = 0) -> Element:
    return Element(role=Role.FIELD, id=identifier, bounds=Bounds(0, y, 300, 20))


def box(*children: Element, role: Role = Role.OTHER, clickable: bool = False) -> Element:
    return Element(role=role, children=children, clickable=clickable, bounds=Bounds(0, 0, 400, 100))


class Screen:
    def __init__(self, *children: Element) -> None:
        root = Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), children=children)
        self._elements = list(walk(root))
        self._labels = RowLabels(Outline(root))

    def _called(self, name: str) -> Element:
        return next(each for each in self._elements if name in (each.text, each.id))

    def control(self, label: str) -> str | None:
        found = self._labels.control_of(self._called(label))
        return None if found is None else found.id

    def value(self, label: str) -> str | None:
        found = self._labels.value_of(self._called(label))
        return None if found is None else found.text or found.id

    def label(self, name: str) -> str:
        return self._labels.label_of(self._called(name))


def test_the_switch_of_a_row_belongs_to_its_first_text_whatever_the_containers() -> None:
    row = box(box(text("Airplane mode"), text("Turns radios off", y=20)), box(switch()), role=Role.CELL)
    screen = Screen(box(row))
    assert (screen.control("Airplane mode"), screen.control("Turns radios off")) == ("switch", None)
    assert screen.label("switch") == "Airplane mode"


def test_switches_of_one_container_belong_to_the_texts_on_their_lines() -> None:
    flat = box(*(each for y in (0, 50, 100) for each in (text(f"Row {y}", y=y), switch(f"switch {y}", y=y))))
    screen = Screen(flat)
    assert [screen.control(f"Row {y}") for y in (0, 50, 100)] == ["switch 0", "switch 50", "switch 100"]


def test_a_switch_elsewhere_does_not_belong_to_a_text() -> None:
    many = [box(text(f"Text {number}", y=30 * number)) for number in range(5)]
    assert Screen(box(*many, box(switch(y=700)))).control("Text 0") is None


def test_a_chip_is_named_by_the_text_inside_it() -> None:
    chip = Element(role=Role.CHECKBOX, id="chip", checked=True, clickable=True, children=(text("On sale"),))
    screen = Screen(box(chip, switch(y=300)))
    assert (screen.control("On sale"), screen.label("chip")) == ("chip", "On sale")


@pytest.mark.parametrize("place", [(300, 0), (0, 20)], ids=["beside", "below"])
def test_the_only_other_text_of_a_row_is_the_value(place: tuple[float, float]) -> None:
    screen = Screen(box(box(text("Total"), text("$12", *place)), box(text("Tip", y=50), text("$2", 300, 50))))
    assert (screen.value("Total"), screen.value("Tip")) == ("$12", "$2")


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "below"])
def test_pairs_in_one_container_are_labels_and_values_in_turn(*, beside: bool) -> None:
    places = count()
    pairs = [
        each
        for name, value in (("Pickup", "Canal Street"), ("Drop-off", "Union Station"))
        for y in [50 * next(places)]
        for each in (text(name, 0, y), text(value, *((300, y) if beside else (0, y + 20))))
    ]
    screen = Screen(box(*pairs))
    assert (screen.value("Pickup"), screen.value("Drop-off")) == ("Canal Street", "Union Station")
    assert screen.value("Canal Street") is None


def test_an_empty_text_is_a_value_too() -> None:
    screen = Screen(box(text("Note"), Element(role=Role.TEXT, id="note", bounds=Bounds(0, 20, 100, 20))))
    assert screen.value("Note") == "note"


def test_the_field_after_a_label_and_a_remark_is_its_value() -> None:
    group = box(box(text("Full name"), text("(Mandatory)", 110)), box(field("name", 30)), text("Too short", y=60))
    screen = Screen(box(group, box(text("City", y=100), field("city", 120))))
    assert (screen.value("Full name"), screen.value("City")) == ("name", "city")
    assert screen.label("name") == "Full name"


def test_the_text_of_a_button_beside_a_field_does_not_label_it() -> None:
    country = box(text("+48"), clickable=True)
    screen = Screen(box(text("Phone number"), box(country, field("phone", 30))))
    assert (screen.value("Phone number"), screen.label("phone")) == ("phone", "Phone number")


def test_nothing_is_the_value_where_two_texts_could_be() -> None:
    screen = Screen(box(text("Payment"), text("Visa", y=20), text("Expires soon", y=40)))
    assert screen.value("Payment") is None


def test_a_text_above_its_label_is_not_taken_for_a_value() -> None:
    assert Screen(box(text("128"), text("Posts", y=20))).value("Posts") is None


def test_a_heading_over_a_row_is_no_label_of_its_switch() -> None:
    screen = Screen(box(text("Notifications"), box(text("Email", y=40), switch(y=40))))
    assert (screen.control("Notifications"), screen.control("Email")) == (None, "switch")


def test_a_title_is_no_label_of_a_field_that_has_a_hint() -> None:
    named = Element(role=Role.FIELD, id="name", hint="Type the name", bounds=Bounds(0, 80, 300, 20))
    assert Screen(box(text("Delete note?"), text("For ever.", y=40), named)).value("Delete note?") is None


def test_boxes_before_their_texts_belong_to_the_texts_after_them() -> None:
    line = box(switch("a", x=0), text("A", x=50), switch("b", x=155), text("B", x=200))
    assert [Screen(line).control(name) for name in "AB"] == ["a", "b"]


def test_a_column_of_labels_has_no_values_in_it() -> None:
    labels = box(*(text(name, y=place * 30) for place, name in enumerate(("Net", "Tax", "Tip", "Sum"))))
    amounts = box(*(text(amount, x=200, y=place * 30) for place, amount in enumerate(("$1", "$2", "$3", "$6"))))
    assert [Screen(box(labels, amounts)).value(name) for name in ("Net", "Tip")] == [None, None]


def test_nothing_belongs_to_a_name_with_an_explanation_below_and_an_amount_beside() -> None:
    card = box(box(text("Blue mug"), text("Stoneware", y=30)), text("$24", x=300))
    assert Screen(card).value("Blue mug") is None


def test_the_head_of_a_table_has_no_value() -> None:
    head, row = box(text("Sunrise"), text("Sunset", x=200)), box(text("05:12", y=40), text("21:48", x=200, y=40))
    assert Screen(box(head, row)).value("Sunrise") is None


def test_the_text_of_a_button_keeps_the_next_label_from_being_a_value() -> None:
    def button(time: str, y: float) -> Element:
        return box(text(time, x=200, y=y), clickable=True)

    form = box(text("Starts"), button("09:00", 0), text("Ends", y=40), button("18:30", 40))
    assert Screen(form).value("Starts") is None
