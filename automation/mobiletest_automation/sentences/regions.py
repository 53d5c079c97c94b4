"""Parts of a screen that sentences name: the header, the menu, the top right corner. Whether an element is in one."""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.screen.outline import Outline


class Region(StrEnum):
    """A part of the screen."""

    HEADER = "header"
    TOOLBAR = "toolbar"
    NAVIGATION_BAR = "navigation bar"
    FOOTER = "footer"
    MENU = "menu"
    LIST = "list"
    BANNER = "banner"
    SNACKBAR = "snackbar"
    TOP = "top"
    BOTTOM = "bottom"
    LEFT = "left"
    RIGHT = "right"
    TOP_LEFT = "top left"
    TOP_RIGHT = "top right"
    BOTTOM_LEFT = "bottom left"
    BOTTOM_RIGHT = "bottom right"


_WORDS = {
    **dict.fromkeys(("header", "page header", "top bar", "app bar", "top app bar", "action bar"), Region.HEADER),
    "title bar": Region.HEADER,
    "toolbar": Region.TOOLBAR,
    **dict.fromkeys(("navigation bar", "nav bar", "navbar"), Region.NAVIGATION_BAR),
    **dict.fromkeys(("footer", "page footer", "bottom bar", "bottom nav", "bottom navigation"), Region.FOOTER),
    **dict.fromkeys(("bottom navigation bar", "bottom menu", "tab bar"), Region.FOOTER),
    **dict.fromkeys(("menu", "main menu", "navigation menu", "side menu", "sidebar", "drawer"), Region.MENU),
    **dict.fromkeys(("navigation drawer", "overflow menu", "context menu"), Region.MENU),
    "list": Region.LIST,
    **dict.fromkeys(("banner", "cookie banner"), Region.BANNER),
    **dict.fromkeys(("snackbar", "toast"), Region.SNACKBAR),
    **{f"{corner}{end}": Region(corner) for corner in list(Region)[-4:] for end in ("", " corner")},
    "top": Region.TOP,
    "bottom": Region.BOTTOM,
    **{f"{side}{end}": Region(side) for side in ("left", "right") for end in ("", " side", " corner")},
}
# Matches the words for regions.
WORDS = "|".join(sorted((word.replace(" ", r"[\s-]+") for word in _WORDS), key=len, reverse=True))

# What the ids and classes of such containers have in them, without signs between the words.
_NAMES = {
    Region.HEADER: ("toolbar", "appbar", "topbar", "actionbar", "titlebar", "header"),
    Region.TOOLBAR: ("toolbar", "appbar", "topbar", "actionbar"),
    Region.NAVIGATION_BAR: ("bottomnav", "navigationbar", "navbar", "tabbar", "bottombar"),
    Region.FOOTER: ("bottomnav", "navigationbar", "navbar", "tabbar", "bottombar", "bottomappbar", "footer"),
    Region.MENU: ("navigationview", "drawer", "sidebar", "menu"),
    Region.BANNER: ("banner",),
    Region.SNACKBAR: ("snackbar", "toast"),
}
# The whole ids and classes of those of web pages, where cards and tables have headers and footers too.
_OF_PAGES = {
    Region.HEADER: {"appbar", "topbar", "titlebar", "header", "pageheader", "siteheader", "appheader", "mainheader"},
    Region.FOOTER: {"bottomnav", "tabbar", "bottombar", "footer", "pagefooter", "sitefooter", "appfooter"},
}

_IOS = {
    Region.HEADER: {"NavigationBar"},
    Region.TOOLBAR: {"Toolbar"},
    Region.NAVIGATION_BAR: {"NavigationBar"},
    Region.FOOTER: {"TabBar", "Toolbar"},
    Region.MENU: {"Menu", "MenuBar"},
}
_TAGS = {
    Region.HEADER: {"header", "banner"},
    Region.NAVIGATION_BAR: {"nav", "navigation"},
    Region.FOOTER: {"footer", "contentinfo"},
    Region.MENU: {"nav", "navigation", "menu", "menubar"},
}
_UPPER = frozenset({Region.HEADER, Region.TOOLBAR})
_LOWER = frozenset({Region.NAVIGATION_BAR, Region.FOOTER})


def region_of(words: str) -> Region:
    """The region that `WORDS` matched."""
    return _WORDS[" ".join(words.lower().replace("-", " ").split())]


def memberships(region: Region, elements: Sequence[Element], outline: Outline) -> list[bool | None]:
    """For each of the elements whether it is in the region; None if that is not certain."""
    sides = region.value.split()
    if sides[0] in _SIDES:
        return [_all(_is_at(side, element, outline) for side in sides) for element in elements]
    areas = _areas(region, outline)
    inside = {*outline.descendants_among(elements, areas), *areas}
    return [True if each in inside else _is_near(region, each, outline, known=bool(areas)) for each in elements]


def _all(parts: Iterable[bool | None]) -> bool | None:
    said = list(parts)
    return False if False in said else None if None in said else True


def _is_near(region: Region, element: Element, outline: Outline, *, known: bool) -> bool | None:
    """By its place, of an element that is in no container for the region; `known`: there are such containers."""
    if region not in _UPPER | _LOWER:
        return False if known else None
    place = _is_at("top" if region in _UPPER else "bottom", element, outline)
    return False if place is False or (known and place is None) else None


def _areas(region: Region, outline: Outline) -> set[Element]:
    return {each for each in outline.visible if each.children and _is_area(region, each, outline)}


def _is_area(region: Region, element: Element, outline: Outline) -> bool:
    if region is Region.LIST:
        return element.role is Role.LIST
    if element.role is Role.SCREEN:
        return False
    if element.tag and element.attributes.get("role", element.tag) in _TAGS.get(region, ()):
        return not any(above.tag in _PARTS for above in outline.ancestors(element))
    kind = element.attributes.get("type", "").removeprefix("XCUIElementType")
    if kind in _IOS.get(region, ()):
        return True
    has = element.attributes
    if element.tag and region in _OF_PAGES:
        return not _OF_PAGES[region].isdisjoint(map(_joined, (element.id, *has.get("class", "").split())))
    called = _joined(element.id), _joined(has.get("class", "")), "" if element.tag else _joined(has.get("role", ""))
    if not any(name in each for name in _NAMES.get(region, ()) for each in called) or outline.fills_screen(element):
        return False
    top = _is_at("top", element, outline)
    return not (region in _UPPER and top is False) and not (region in _LOWER and top is True)


# What has headers and footers of its own.
_PARTS = frozenset({"article", "section", "dialog", "li", "td"})


def _joined(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.rsplit("/", 1)[-1].rsplit(".", 1)[-1].lower())


# Where the side is, how near its middle certainly belongs to it, and from how far on it certainly does not.
_SIDES = {"top": (0.0, 0.2, 0.4), "bottom": (1.0, 0.2, 0.4), "left": (0.0, 0.4, 0.55), "right": (1.0, 0.4, 0.55)}


def _is_at(side: str, element: Element, outline: Outline) -> bool | None:
    screen, middle = outline.root.bounds, element.bounds.center
    if outline.root.tag or not screen.width or not screen.height:
        return None
    at, near, far = _SIDES[side]
    upright = side in ("top", "bottom")
    place = (middle.y - screen.y) / screen.height if upright else (middle.x - screen.x) / screen.width
    distance = abs(at - place)
    return True if distance <= near else False if distance >= far else None
