"""Which control and which value belong to a text: what one row, form or receipt shows together."""

import pytest

from mobiletest_automation.screen.elements import Bounds, Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_labels import RowLabels


def text(name: str, x: float = 0, y: float = 0) -> Element:
    return Element(role=Role.TEXT, text=name, bounds=Bounds(x, y, 100, 20))


def switch(identifier: str = "switch", x: float = 300, y: float = 0) -> Element:
    return Element(role=Role.SWITCH, id=identifier, checked=False, bounds=Bounds(x, y, 40, 20))


def field(identifier: str, y: float = 0, hint: str = "") -> Element:
    return Element(role=Role.FIELD, id=identifier, hint=hint, bounds=Bounds(0, y, 300, 20))


def box(*children: Element, role: Role = Role.OTHER, clickable: bool = False) -> Element:
    return Element(role=role, children=children, clickable=clickable, bounds=Bounds(0, 0, 400, 100))


def labels(shown: Element) -> tuple[RowLabels, dict[str, Element]]:
    """The labels of a screen that shows this, and its elements by their texts and ids."""
    root = Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), children=(shown,))
    return RowLabels(Outline(root)), {each.text or each.id: each for each in walk(root)}


AIRPLANE = box(box(text("Airplane mode"), text("Turns radios off", y=20)), box(switch()), role=Role.CELL)
FLAT = box(*(each for y in (0, 50, 100) for each in (text(f"Row {y}", y=y), switch(f"switch {y}", y=y))))
FAR = box(*(box(text(f"Text {number}", y=30 * number)) for number in range(5)), box(switch(y=700)))
CHIP = Element(role=Role.CHECKBOX, id="chip", checked=True, clickable=True, children=(text("On sale"),))


@pytest.mark.parametrize(
    ("shown", "controls"),
    [
        (AIRPLANE, {"Airplane mode": "switch", "Turns radios off": None}),
        (FLAT, {"Row 0": "switch 0", "Row 50": "switch 50", "Row 100": "switch 100"}),
        (FAR, {"Text 0": None}),
        (box(CHIP, switch(y=300)), {"On sale": "chip"}),
        (box(text("Notices"), box(text("Email", y=40), switch(y=40))), {"Notices": None, "Email": "switch"}),
        (box(switch("a", x=0), text("A", x=50), switch("b", x=155), text("B", x=200)), {"A": "a", "B": "b"}),
    ],
    ids=["first text of a row", "same line", "elsewhere", "chip", "heading over a row", "boxes before texts"],
)
def test_the_control_of_a_text(shown: Element, controls: dict[str, str | None]) -> None:
    row_labels, elements = labels(shown)
    for name, control in controls.items():
        of_text = row_labels.control_of(elements[name])
        assert (of_text and of_text.id) == control


BESIDE = box(text("Pickup"), text("Canal", 300), text("Drop-off", y=50), text("Union", 300, 50))
BELOW = box(text("Pickup"), text("Canal", y=20), text("Drop-off", y=50), text("Union", y=70))
REMARK = box(box(text("Full name"), text("(Mandatory)", 110)), box(field("name", 30)), text("Too short", y=60))
PHONE = box(text("Phone number"), box(box(text("+48"), clickable=True), field("phone", 30)))
NET = box(*(text(name, y=place * 30) for place, name in enumerate(("Net", "Tax", "Tip", "Sum"))))
AMOUNTS = box(*(text(amount, x=200, y=place * 30) for place, amount in enumerate(("$1", "$2", "$3", "$6"))))
SUN = box(box(text("Sunrise"), text("Sunset", x=200)), box(text("05:12", y=40), text("21:48", x=200, y=40)))
NINE, LATE = (box(text(time, x=200, y=y), clickable=True) for time, y in (("09:00", 0), ("18:30", 40)))


@pytest.mark.parametrize(
    ("shown", "values"),
    [
        (box(box(text("Total"), text("$12", 300)), box(text("Tip", y=50), text("$2", 300, 50))),
         {"Total": "$12", "Tip": "$2"}),
        (box(box(text("Total"), text("$12", y=20)), box(text("Tip", y=50), text("$2", 300, 50))),
         {"Total": "$12", "Tip": "$2"}),
        (BESIDE, {"Pickup": "Canal", "Drop-off": "Union", "Canal": None}),
        (BELOW, {"Pickup": "Canal", "Drop-off": "Union", "Canal": None}),
        (box(text("Note"), Element(role=Role.TEXT, id="note", bounds=Bounds(0, 20, 100, 20))), {"Note": "note"}),
        (box(REMARK, box(text("City", y=100), field("city", 120))), {"Full name": "name", "City": "city"}),
        (PHONE, {"Phone number": "phone"}),
        (box(text("Payment"), text("Visa", y=20), text("Expires soon", y=40)), {"Payment": None}),
        (box(text("128"), text("Posts", y=20)), {"Posts": None}),
        (box(text("Delete note?"), text("For ever.", y=40), field("name", 80, "Type it")), {"Delete note?": None}),
        (box(NET, AMOUNTS), {"Net": None, "Tip": None}),
        (box(box(text("Blue mug"), text("Stoneware", y=30)), text("$24", x=300)), {"Blue mug": None}),
        (SUN, {"Sunrise": None}),
        (box(text("Starts"), NINE, text("Ends", y=40), LATE), {"Starts": None}),
    ],
    ids=[
        *("only other text, beside", "only other text, below", "pairs, beside", "pairs, below", "empty text"),
        *("field after a remark", "button before a field", "two texts", "text above", "title over a field with a hint"),
        *("columns", "explanation and amount", "head of a table", "texts of buttons"),
    ],
)  # fmt: skip
def test_the_value_of_a_text(shown: Element, values: dict[str, str | None]) -> None:
    row_labels, elements = labels(shown)
    for name, value in values.items():
        of_text = row_labels.value_of(elements[name])
        assert (of_text and (of_text.text or of_text.id)) == value


@pytest.mark.parametrize(
    ("shown", "name", "label"),
    [
        (AIRPLANE, "switch", "Airplane mode"),
        (box(CHIP), "chip", "On sale"),
        (REMARK, "name", "Full name"),
        (PHONE, "phone", "Phone number"),
    ],
)
def test_the_label_of_a_control(shown: Element, name: str, label: str) -> None:
    row_labels, elements = labels(shown)
    assert row_labels.label_of(elements[name]) == label
