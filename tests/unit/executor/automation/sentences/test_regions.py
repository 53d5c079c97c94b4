"""Whether an element is in a part of the screen; where that is not certain, neither is said."""

import pytest

from services.executor.automation.screen.elements import Bounds, Element, Role
from services.executor.automation.screen.outline import Outline
from services.executor.automation.sentences.regions import memberships, region_of


def leaf(name: str, x: float, y: float) -> Element:
    return Element(role=Role.BUTTON, text=name, bounds=Bounds(x, y, 40, 40))


def box(identifier: str, y: float, *children: Element) -> Element:
    return Element(id=identifier, bounds=Bounds(0, y, 400, 60), children=children)


def membership(words: str, element: Element, *around: Element, tag: str = "") -> bool | None:
    root = Element(role=Role.SCREEN, bounds=Bounds(0, 0, 400, 800), tag=tag, children=around or (element,))
    return memberships(region_of(words), [element], Outline(root))[0]


@pytest.mark.parametrize(
    ("words", "x", "y", "expected"),
    [
        ("top right corner", 350, 20, True),
        ("top right", 350, 220, None),
        ("top right", 20, 20, False),
        ("top-left", 20, 20, True),
        ("bottom", 20, 740, True),
        ("bottom", 20, 300, False),
    ],
)
def test_sides_and_corners_are_places(words: str, x: float, y: float, expected: bool | None) -> None:
    assert membership(words, leaf("Save", x, y)) is expected


def test_a_page_without_a_layout_has_no_corners() -> None:
    assert membership("top right", leaf("Save", 350, 20), tag="html") is None


def test_a_toolbar_is_what_its_id_says() -> None:
    save, other = leaf("Save", 350, 10), leaf("Other", 0, 400)
    parts = box("app:id/toolbar", 0, save), box("app:id/content", 380, other)
    assert (membership("toolbar", save, *parts), membership("toolbar", other, *parts)) == (True, False)


def test_what_is_not_marked_may_be_a_header() -> None:
    save = leaf("Save", 350, 10)
    assert membership("header", save) is None
    assert membership("header", leaf("Save", 350, 500)) is False


def test_the_footer_of_an_article_is_not_that_of_the_page() -> None:
    link = leaf("Terms", 0, 700)
    footer = Element(tag="footer", bounds=Bounds(0, 700, 400, 60), children=(link,))
    article = Element(tag="article", bounds=Bounds(0, 0, 400, 800), children=(footer,))
    assert membership("footer", link, footer, tag="html") is True
    assert membership("footer", link, article, tag="html") is None


def test_a_layout_around_the_whole_screen_is_no_menu() -> None:
    item = leaf("First", 0, 100)
    drawer = Element(id="app:id/drawer", bounds=Bounds(0, 0, 400, 800), children=(item,))
    assert membership("menu", item, drawer) is None
