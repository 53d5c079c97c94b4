"""Reading page sources and finding elements in them."""

from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.page_source.reader import read_source


def read(source: str) -> list[Element]:
    """All elements, in the order of the source."""
    return list(walk(read_source(source)))


def by_id(source: str, name: str) -> Element:
    """The one element of that id."""
    (match,) = [element for element in read(source) if element.id == name]
    return match


def box(element: Element) -> tuple[float, float, float, float]:
    bounds = element.bounds
    return bounds.x, bounds.y, bounds.width, bounds.height
