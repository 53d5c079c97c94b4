from services.executor.automation.screen.elements import Element, Role
from services.executor.automation.screen.outline import Outline


def button(text: str) -> Element:
    return Element(role=Role.BUTTON, text=text)


def box(*children: Element, role: Role = Role.OTHER, visible: bool = True) -> Element:
    return Element(role=role, children=children, visible=visible)


def test_what_is_inside_a_hidden_element_is_not_visible() -> None:
    shown, hidden = button("shown"), button("hidden")
    outer = box(shown)
    root = box(outer, box(box(hidden), visible=False))
    assert Outline(root).visible == (outer, shown)
    assert Outline(box(shown, visible=False)).visible == ()


def test_what_is_inside_something_tappable_is_tappable() -> None:
    inside, outside = Element(text="in"), Element(text="out")
    outline = Outline(box(box(box(inside), role=Role.CELL), outside))
    assert (outline.tappable(inside), outline.tappable(outside)) == (True, False)


def test_the_closest_ancestor_is_the_innermost_that_is_accepted() -> None:
    deep, flat = button("deep"), button("flat")
    inner = box(box(deep), role=Role.LIST)
    outer = box(inner, flat, role=Role.LIST)
    outline = Outline(box(outer))
    assert outline.closest_ancestors([flat, deep], lambda above: above.role is Role.LIST) == [outer, inner]
    assert outline.closest_ancestors([deep], lambda above: above.role is Role.DIALOG) == [None]


def test_a_row_is_a_cell_or_a_child_of_a_list() -> None:
    in_cell, in_list, card, free = button("a"), button("b"), button("c"), button("d")
    cell, item = box(box(in_cell), role=Role.CELL), box(in_list)
    cards = [box(button("x")), box(button("y")), box(card)]
    outline = Outline(box(cell, box(item, role=Role.LIST), box(*cards), free))
    rows = [outline.row_of(each) for each in (in_cell, cell, in_list, item, card, free)]
    assert rows == [cell, cell, item, item, cards[2], None]


def test_descendants_and_innermost_elements() -> None:
    leaf, other = button("leaf"), button("other")
    middle = box(leaf)
    root = box(middle, other)
    outline = Outline(root)
    assert outline.descendants_among([leaf, other, middle], {middle}) == [leaf]
    assert outline.innermost([root, middle, leaf, other]) == [leaf, other]
    assert outline.ancestors_of_all([leaf, other]) == {root, middle}
