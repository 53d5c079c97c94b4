from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.outline import Outline


def button(text: str) -> Element:
    return Element(role=Role.BUTTON, text=text)


def box(*children: Element, role: Role = Role.OTHER, visible: bool = True) -> Element:
    return Element(role=role, children=children, visible=visible)


def test_a_row_is_a_cell_or_a_child_of_a_list() -> None:
    in_cell, in_list, card, free = button("a"), button("b"), button("c"), button("d")
    cell, item = box(box(in_cell), role=Role.CELL), box(in_list)
    cards = [box(button("x")), box(button("y")), box(card)]
    outline = Outline(box(cell, box(item, role=Role.LIST), box(*cards), free))
    rows = [outline.row_of(each) for each in (in_cell, cell, in_list, item, card, free)]
    assert rows == [cell, cell, item, item, cards[2], None]
