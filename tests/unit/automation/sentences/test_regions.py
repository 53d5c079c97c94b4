"""Whether an element is in a part of the screen; where that is not certain, neither is said."""

import pytest

from mobiletest_automation.screen.elements import Bounds, Element, Role
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.sentences.regions import memberships, region_of


def leaf(x: float, y: float) -> Element:
    return Element(role=Role.BUTTON, text="Save", bounds=Bounds(x, y, 40, 40))


def box(*children: Element, identifier: str = "", tag: str = "", y: float = 0, height: float = 800) -> Element:
    return Element(id=identifier, tag=tag, bounds=Bounds(0, y, 400, height), children=children)


SAVE, OTHER, TERMS, ITEM = leaf(350, 10), leaf(0, 400), leaf(0, 700), leaf(0, 100)
TOOLBAR = (
    box(SAVE, identifier="app:id/toolbar", height=60),
    box(OTHER, identifier="app:id/content", y=380, height=60),
)
FOOTER = box(TERMS, tag="footer", y=700, height=60)
FULL_DRAWER = box(ITEM, identifier="app:id/drawer")


@pytest.mark.parametrize(
    ("words", "element", "around", "tag", "expected"),
    [
        ("top right corner", leaf(350, 20), (), "", True),
        ("top right", leaf(350, 220), (), "", None),
        ("top right", leaf(20, 20), (), "", False),
        ("top-left", leaf(20, 20), (), "", True),
        ("bottom", leaf(20, 740), (), "", True),
        ("bottom", leaf(20, 300), (), "", False),
        # A page without a layout has no corners.
        ("top right", leaf(350, 20), (), "html", None),
        # A toolbar is what its id says; what is not marked may be a header at the top only.
        ("toolbar", SAVE, TOOLBAR, "", True),
        ("toolbar", OTHER, TOOLBAR, "", False),
        ("header", SAVE, (), "", None),
        ("header", leaf(350, 500), (), "", False),
        # The footer of an article is not that of the page, a layout around the whole screen no menu.
        ("footer", TERMS, (FOOTER,), "html", True),
        ("footer", TERMS, (box(FOOTER, tag="article"),), "html", None),
        ("menu", ITEM, (FULL_DRAWER,), "", None),
    ],
)
def test_where_an_element_is(
    words: str, element: Element, around: tuple[Element, ...], tag: str, expected: bool | None
) -> None:
    root = Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), tag=tag, children=around or (element,))
    assert memberships(region_of(words), [element], Outline(root)) == [expected]
