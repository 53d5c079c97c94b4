"""The elements of a screen: one model for every kind of device."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar, dataclass_transform

from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.texts import cut


class Role(StrEnum):
    """What an element is for; OTHER if the source does not say."""

    BUTTON = "button"
    LINK = "link"
    FIELD = "field"
    CHECKBOX = "checkbox"
    SWITCH = "switch"
    RADIO = "radio"
    TAB = "tab"
    CELL = "cell"
    PICKER = "picker"
    SLIDER = "slider"
    IMAGE = "image"
    HEADING = "heading"
    TEXT = "text"
    LIST = "list"
    DIALOG = "dialog"
    PROGRESS = "progress"
    SCREEN = "screen"
    OTHER = "other"


TAPPABLE = frozenset(
    {
        Role.BUTTON,
        Role.LINK,
        Role.FIELD,
        Role.CHECKBOX,
        Role.SWITCH,
        Role.RADIO,
        Role.TAB,
        Role.CELL,
        Role.PICKER,
        Role.SLIDER,
    }
)
CHECKABLE = frozenset({Role.CHECKBOX, Role.SWITCH, Role.RADIO})


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def _immutable(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """A dataclass that only the type checker keeps immutable: with `frozen`, to make an instance takes twice as long.

    For what each reading of a screen makes hundreds of.
    """
    return dataclass(slots=True, kw_only=kw_only, eq=eq, unsafe_hash=eq)


@dataclass(frozen=True, slots=True)
class Point:
    """Pixels from the top left corner of the screen."""

    x: float
    y: float


@_immutable()
class Bounds:
    """The rectangle of an element in pixels, y downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def center(self) -> Point:
        return Point(self.x + self.width / 2, self.y + self.height / 2)

    def at(self, x: float, y: float) -> Point:
        """The point at this share (0..1) of the width and height."""
        return Point(self.x + self.width * x, self.y + self.height * y)

    def contains(self, point: Point) -> bool:
        """Whether the point is inside or on the edge."""
        return self.x <= point.x <= self.right and self.y <= point.y <= self.bottom

    def intersection(self, other: "Bounds") -> "Bounds | None":
        """The part that both rectangles cover; None when that has no area."""
        left, top = max(self.x, other.x), max(self.y, other.y)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Bounds(left, top, right - left, bottom - top) if right > left and bottom > top else None

    @property
    def is_line(self) -> bool:
        """Whether it has a width or a height, but not both."""
        return (self.width == 0) is not (self.height == 0)

    def share_within(self, other: "Bounds") -> float:
        """The share (0..1) of its area that is inside, of a line that of its length; 1 if it covers all of the other.

        0 for a rectangle without any size.
        """
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        down = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        if across < 0 or down < 0 or (self.width <= 0 and self.height <= 0):
            return 0.0
        if across == other.width and down == other.height:
            return 1.0
        return (across / self.width if self.width else 1.0) * (down / self.height if self.height else 1.0)

    def middle_within(self, other: "Bounds") -> Point | None:
        """The middle of the part that is inside, which may be a line; None if nothing is."""
        if self.share_within(other) <= 0:
            return None
        left, top = max(self.x, other.x), max(self.y, other.y)
        right, bottom = min(self.right, other.right), min(self.bottom, other.bottom)
        return Point((left + right) / 2, (top + bottom) / 2)


NOWHERE = Bounds(0, 0, 0, 0)
# Characters of an id in messages.
ID_SHOWN = 200
NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


@_immutable(kw_only=True, eq=False)
class Element:
    """A node of the screen, compared by identity.

    `text` is its visible text (the content of a field), `label` its accessibility label, `hint` the text of an empty
    field, `id` its resource id or accessibility identifier. `checked` is None if it cannot be checked. `clickable` is
    what the source says, independent of the role. `secret` is a field for passwords. `tag` is the tag of HTML.
    `attributes` are all attributes of the source. `css` are those of the CSS selectors asked for that it matches.
    """

    role: Role = Role.OTHER
    text: str = ""
    label: str = ""
    hint: str = ""
    id: str = ""
    bounds: Bounds = NOWHERE
    enabled: bool = True
    visible: bool = True
    checked: bool | None = None
    focused: bool = False
    selected: bool = False
    clickable: bool = False
    secret: bool = False
    tag: str = ""
    attributes: Mapping[str, str] = field(default_factory=lambda: NO_ATTRIBUTES)
    css: frozenset[str] = frozenset()
    children: "tuple[Element, ...]" = ()

    @property
    def tappable(self) -> bool:
        """Whether it is meant to be tapped, by its role or by the source."""
        return self.clickable or self.role in TAPPABLE

    @property
    def editable(self) -> bool:
        return self.role is Role.FIELD

    @property
    def on(self) -> bool | None:
        """Whether it is checked, or selected if it is a tab; None if it has no such state."""
        return self.selected if self.checked is None and self.role is Role.TAB else self.checked

    @property
    def name(self) -> str:
        """What a person would call it; empty if nothing identifies it. The content of a field is not its name."""
        return (self.label or self.hint or self.id) if self.editable else (self.text or self.label or self.id)

    def describe(self) -> str:
        """Its role and name, for messages."""
        named = f"{self.role} {quote(self.name)}" if self.name else str(self.role)
        return f"{named} (id {cut(self.id, ID_SHOWN)})" if self.id and self.name != self.id and not self.text else named


def walk(root: Element) -> Iterator[Element]:
    """The element and its descendants, parents first, in the order of the source."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        if element.children:
            waiting.extend(reversed(element.children))
