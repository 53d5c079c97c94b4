"""Fingerprints of screens: they recognise a screen whose data have changed.

A fingerprint consists of the controls, the title and the texts of dialogs, each by its role and identity: its id
without digits, or else the words of its name without digits. It ignores other texts, contents of fields, states and
positions, and in rows of lists everything but the roles and ids.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import TypeAlias

from mobiletest_automation.screen.elements import NOWHERE, Element, Role, walk
from mobiletest_automation.screen.outline import Outline, are_rows
from mobiletest_automation.screen.text_cache import cache_short_texts

# Share of the scrolling tokens of the smaller screen that the other one must have too.
MIN_SHARED = 2 / 3
FLOWING_LIMIT = 200
# Share of the screen's height that a bar at its edge may have.
_BARS = 0.1

# A title bar has its title among so many elements.
_BAR_ELEMENTS = 100

_SCROLLING = re.compile(r"ScrollView|RecyclerView|ListView|GridView|TableView|XCUIElementTypeTable|CollectionView")
_TITLE_BAR = re.compile(r"NavigationBar$|Toolbar$|ActionBar|TopAppBar")
_TAB_BAR = re.compile(r"TabBar|TabLayout|TabWidget|BottomNavigation")
_SYSTEM = re.compile(r"XCUIElementType(?:Keyboard|StatusBar)|inputmethod|com\.android\.systemui")
_GENERATED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|^:[rR]", re.IGNORECASE)
_LONG_HEX = re.compile(r"[0-9a-f]{10,}", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class ScreenFingerprint:
    """`fixed` is a hash of everything that does not scroll; `flowing` has a short hash of each element that does."""

    fixed: str
    flowing: tuple[str, ...] = ()


def same_screen(one: ScreenFingerprint, other: ScreenFingerprint) -> bool:
    """Whether both are the same screen, possibly scrolled a little, or with other rows in its lists."""
    if one.fixed != other.fixed:
        return False
    here, there = set(one.flowing), set(other.flowing)
    if not here or not there:
        everything_scrolls = one.fixed == hash_text("")
        return here == there or not everything_scrolls
    return len(here & there) >= MIN_SHARED * min(len(here), len(there))


def fingerprint_of(root: Element) -> ScreenFingerprint:
    """The fingerprint of a screen."""
    tokens = list(_tokens(root))
    fixed = {token for token, flows in tokens if not flows}
    flowing = {token for token, flows in tokens if flows} - fixed
    hashed = sorted(hash_text(token, 4) for token in flowing)
    return ScreenFingerprint(hash_text("\n".join(sorted(fixed))), tuple(hashed[:FLOWING_LIMIT]))


ScreenState: TypeAlias = tuple[object, ...]


def screen_state(outline: Outline) -> ScreenState:
    """The exact state of a screen; two states are equal only if nothing visible has changed."""
    return tuple(
        (
            each.role,
            each.text,
            each.label,
            each.id,
            each.bounds,
            each.enabled,
            each.checked,
            each.selected,
            each.visible,
        )
        for each in walk(outline.root)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Whether an element is in a scrolling container, in a row of a list, in a dialog, among tabs."""

    scrolled: bool = False
    row: bool = False
    dialog: bool = False
    tabs: bool = False


def _tokens(root: Element) -> Iterator[tuple[str, bool]]:
    """The tokens of the screen, each with whether it scrolls. Scrolling elements count even when out of view."""
    titled = False
    waiting = [(root, _Place())]
    while waiting:
        element, place = waiting.pop()
        if belongs_to_system(element) or not (element.visible or place.scrolled or is_scrolled_away(element, root)):
            continue
        if element.role is Role.CELL:
            place = replace(place, row=True)
        title = "" if titled or place.row else title_words(element)
        titled = titled or bool(title)
        if title:
            yield f"title|{title}", place.scrolled
        elif _is_counted(element, place):
            yield f"{element.role}|{_identity(element, place)}", place.scrolled or place.row
        inside = _place_inside(element, place)
        waiting.extend((child, inside) for child in reversed(element.children))


def is_scrolled_away(element: Element, root: Element) -> bool:
    """Whether an invisible element is only scrolled away: beyond the screen's edges, or under its bars."""
    screen, middle = root.bounds, element.bounds.center
    if element.bounds == NOWHERE or not screen.height:
        return False
    y = (middle.y - screen.y) / screen.height
    return not (_BARS <= y <= 1 - _BARS) or not (screen.x <= middle.x <= screen.right)


def title_words(element: Element) -> str:
    """The words of the screen's title, if the element is a heading or the platform's title bar."""
    if element.role is Role.HEADING:
        return normalized_words(element.text or element.label or element.id)
    if not _TITLE_BAR.search(_kind(element)):
        return ""
    inside = islice(walk(element), _BAR_ELEMENTS)
    texts = (each.text or each.label for each in inside if not each.tappable)
    return normalized_words(next(filter(None, texts), "") or element.id)


def _is_counted(element: Element, place: _Place) -> bool:
    if element.role in (Role.DIALOG, Role.LIST) or element.tappable:
        return True
    return place.dialog and element.role in (Role.TEXT, Role.HEADING)


def _place_inside(element: Element, place: _Place) -> _Place:
    return _Place(
        scrolled=place.scrolled or is_scrollable(element),
        row=place.row or element.role is Role.LIST or are_rows(element.children),
        dialog=place.dialog or element.role is Role.DIALOG,
        tabs=place.tabs or bool(_TAB_BAR.search(_kind(element))),
    )


def is_scrollable(element: Element) -> bool:
    """Whether its content scrolls."""
    declared = element.attributes.get("scrollable") == "true"
    return element.role is Role.LIST or declared or bool(_SCROLLING.search(_kind(element)))


def _kind(element: Element) -> str:
    return element.attributes.get("class") or element.attributes.get("type") or ""


def belongs_to_system(element: Element) -> bool:
    """Whether it belongs to the system, not to the app: the keyboard, the status bar."""
    has = element.attributes
    return any(_SYSTEM.search(has[name]) for name in ("type", "package") if name in has)


def _identity(element: Element, place: _Place) -> str:
    """Its id, or else its name unless it is in a row; for a tab also whether it is selected."""
    own = id_shape(own_id(element))
    named = f"#{own}" if own or place.row else normalized_words(_name(element))
    tab = element.role is Role.TAB or place.tabs
    return f"{named} selected" if element.selected and tab else named


def own_id(element: Element) -> str:
    """The element's id; empty if it is a copy of the label, as iOS reports for elements without one."""
    return "" if element.id in (element.label, element.text) else element.id


def _name(element: Element) -> str:
    if element.editable:
        return element.label or element.hint
    return element.label or element.text or " ".join(child.text or child.label for child in element.children[:3])


@cache_short_texts
def id_shape(identifier: str) -> str:
    """The id without package and digits; empty if it was generated."""
    short = identifier.rsplit("/", 1)[-1]
    generated = _GENERATED.search(short) or any(map(_DIGITS.search, _LONG_HEX.findall(short)))
    return "" if generated else _DIGITS.sub("", short)


@cache_short_texts
def normalized_words(text: str) -> str:
    """The words of a text in lower case, without digits and punctuation."""
    return " ".join(_WORD.findall(text.casefold()))[:80]


def hash_text(text: str, size: int = 8) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()
