"""Knows a screen again when its data have changed: what it is made of, without what stands in it.

Counted is what can be operated, the title, and what a dialog says, by role and identity (an id without its digits, else
the words of its name without digits). Not counted are plain texts, what is typed in, states, positions, and in rows of
lists everything but the kinds of things. docs/decisions/a-screen-is-what-can-be-done-on-it.md says why.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

from services.executor.automation.screen.elements import NOWHERE, Element, Role, walk
from services.executor.automation.screen.outline import Outline

SHARED_SHARE = 2 / 3
"""So much of the smaller screen's scrolled part must be on the other one too."""
FLOWING_LIMIT = 200
_BARS = 0.1
"""So much of the screen's height a bar at its edge may take."""
_CARDS = 3
"""So many neighbours of one kind, each with something inside, are rows of a list whatever their role."""

_SCROLLING = re.compile(r"ScrollView|RecyclerView|ListView|GridView|TableView|XCUIElementTypeTable|CollectionView")
_TITLE_BAR = re.compile(r"NavigationBar$|Toolbar$|ActionBar|TopAppBar")
_TAB_BAR = re.compile(r"TabBar|TabLayout|TabWidget|BottomNavigation")
_SYSTEM = re.compile(r"XCUIElementType(?:Keyboard|StatusBar)|inputmethod|com\.android\.systemui")
_GENERATED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|(?=[0-9a-f]*\d)[0-9a-f]{10,}|^:[rR]", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class ScreenFingerprint:
    """`fixed` stands for what is always there, `flowing` for what scrolls, one short hash for each thing."""

    fixed: str
    flowing: tuple[str, ...] = ()

    @property
    def blank(self) -> bool:
        """Whether nothing but what scrolls tells it from others."""
        return self.fixed == _EMPTY_HASH


def same_screen(one: ScreenFingerprint, other: ScreenFingerprint) -> bool:
    """Whether they are one screen, perhaps scrolled a little, perhaps with other rows in its lists."""
    if one.fixed != other.fixed:
        return False
    here, there = set(one.flowing), set(other.flowing)
    if not here or not there:
        return here == there or not one.blank
    return len(here & there) >= SHARED_SHARE * min(len(here), len(there))


def fingerprint_of(root: Element) -> ScreenFingerprint:
    """Which screen this is."""
    tokens = list(_tokens(root))
    fixed = {token for token, flows in tokens if not flows}
    flowing = {token for token, flows in tokens if flows} - fixed
    hashed = sorted(_hash(token, 4) for token in flowing)
    return ScreenFingerprint(_hash("\n".join(sorted(fixed))), tuple(hashed[:FLOWING_LIMIT]))


ScreenState: TypeAlias = tuple[object, ...]


def screen_state(outline: Outline) -> ScreenState:
    """Everything that can be seen or used on the screen at one moment; equal only while nothing changes."""
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
    """Where an element is: in something that scrolls, in a row of a list, in a dialog, among tabs."""

    scrolled: bool = False
    row: bool = False
    dialog: bool = False
    tabs: bool = False


def _tokens(root: Element) -> Iterator[tuple[str, bool]]:
    """What counts, and whether it scrolls. Of what scrolls also that counts which is out of sight."""
    titled = False
    waiting = [(root, _Place())]
    while waiting:
        element, place = waiting.pop()
        if belongs_to_system(element) or not (element.visible or place.scrolled or _is_scrolled_away(element, root)):
            continue
        if element.role is Role.CELL:
            place = replace(place, row=True)
        title = "" if titled or place.row else _title(element)
        titled = titled or bool(title)
        if title:
            yield f"title|{title}", place.scrolled
        elif _is_counted(element, place):
            yield f"{element.role}|{_identity(element, place)}", place.scrolled or place.row
        inside = _place_inside(element, place)
        rows = has_rows(element)
        within = replace(inside, row=True) if rows else inside
        waiting.extend((child, within) for child in reversed(element.children))


def _is_scrolled_away(element: Element, root: Element) -> bool:
    """Whether what cannot be seen has only been scrolled away: beyond the edges of the screen, or under its bars."""
    screen, middle = root.bounds, element.bounds.center
    if element.bounds == NOWHERE or not screen.height:
        return False
    y = (middle.y - screen.y) / screen.height
    return not (_BARS <= y <= 1 - _BARS) or not (screen.x <= middle.x <= screen.right)


def _title(element: Element) -> str:
    """The words of the screen's title, if the element has them: a heading, or the bar that the platform has for it."""
    if element.role is Role.HEADING:
        return normalized_words(element.text or element.label or element.id)
    if not _TITLE_BAR.search(_kind(element)):
        return ""
    said = (each.text or each.label for each in walk(element) if not each.tappable)
    return normalized_words(next(filter(None, said), "") or element.id)


def _is_counted(element: Element, place: _Place) -> bool:
    if element.role in (Role.DIALOG, Role.LIST) or element.tappable:
        return True
    return place.dialog and element.role in (Role.TEXT, Role.HEADING)


def _place_inside(element: Element, place: _Place) -> _Place:
    return _Place(
        scrolled=place.scrolled or is_scrollable(element),
        row=place.row or element.role is Role.LIST,
        dialog=place.dialog or element.role is Role.DIALOG,
        tabs=place.tabs or bool(_TAB_BAR.search(_kind(element))),
    )


def has_rows(element: Element) -> bool:
    """Whether its children are rows: all of one kind, each with something inside."""
    children = element.children
    return (
        len(children) >= _CARDS and len({child.role for child in children}) == 1 and all(c.children for c in children)
    )


def is_scrollable(element: Element) -> bool:
    """Whether what is inside moves under the finger."""
    said_so = element.attributes.get("scrollable") == "true"
    return element.role is Role.LIST or said_so or bool(_SCROLLING.search(_kind(element)))


def _kind(element: Element) -> str:
    return element.attributes.get("class") or element.attributes.get("type") or ""


def belongs_to_system(element: Element) -> bool:
    """Whether it belongs to the system and not to the app: the keyboard, the status bar."""
    said = element.attributes
    return any(_SYSTEM.search(said[name]) for name in ("type", "package") if name in said)


def _identity(element: Element, place: _Place) -> str:
    """Which one it is: its id, or else its name where that may count; and of a tab whether it is the open one."""
    own = id_shape(own_id(element))
    named = f"#{own}" if own or place.row else normalized_words(_name(element))
    tab = element.role is Role.TAB or place.tabs
    return f"{named} selected" if element.selected and tab else named


def own_id(element: Element) -> str:
    """The id that the element has of its own; iOS gives the label of one that has none."""
    return "" if element.id in (element.label, element.text) else element.id


def _name(element: Element) -> str:
    if element.editable:
        return element.label or element.hint
    return element.label or element.text or " ".join(child.text or child.label for child in element.children[:3])


@lru_cache(maxsize=8192)
def id_shape(identifier: str) -> str:
    """The id without its package and its digits; empty for one that was made up by a machine."""
    short = identifier.rsplit("/", 1)[-1]
    return "" if _GENERATED.search(short) else _DIGITS.sub("", short)


@lru_cache(maxsize=8192)
def normalized_words(text: str) -> str:
    """The words of a text, without digits, signs and case."""
    return " ".join(_WORD.findall(text.casefold()))[:80]


def _hash(text: str, size: int = 8) -> str:
    return blake2b(text.encode(), digest_size=size).hexdigest()


_EMPTY_HASH = _hash("")
