"""What a sentence means, before anybody has looked at the screen."""

from dataclasses import dataclass
from enum import StrEnum

from services.executor.automation.screen.elements import Role


class Action(StrEnum):
    """What a step does or checks, as the API names it. Sentences have no word for those from CLEAR_STATE on."""

    TAP = "tap"
    DOUBLE_TAP = "double_tap"
    LONG_PRESS = "long_press"
    TYPE = "type"
    CLEAR = "clear"
    PRESS_KEY = "press_key"
    BACK = "back"
    HIDE_KEYBOARD = "hide_keyboard"
    SWIPE = "swipe"
    SCROLL = "scroll"
    SCROLL_UNTIL_VISIBLE = "scroll_until_visible"
    WAIT_FOR = "wait_for"
    ASSERT_VISIBLE = "assert_visible"
    ASSERT_NOT_VISIBLE = "assert_not_visible"
    ASSERT_ENABLED = "assert_enabled"
    ASSERT_DISABLED = "assert_disabled"
    ASSERT_CHECKED = "assert_checked"
    ASSERT_UNCHECKED = "assert_unchecked"
    ASSERT_TEXT = "assert_text"
    LAUNCH_APP = "launch_app"
    STOP_APP = "stop_app"
    OPEN_LINK = "open_link"
    SCREENSHOT = "screenshot"
    CLEAR_STATE = "clear_state"
    COPY_TEXT = "copy_text"
    SET_CLIPBOARD = "set_clipboard"
    ASSERT_TRUE = "assert_true"
    WAIT_UNTIL_STILL = "wait_until_still"
    SET_LOCATION = "set_location"
    SET_ORIENTATION = "set_orientation"
    NONE = "none"


class Relation(StrEnum):
    """Where an element is, seen from another one."""

    BELOW = "below"
    ABOVE = "above"
    LEFT_OF = "left of"
    RIGHT_OF = "right of"
    NEXT_TO = "next to"
    INSIDE = "in"
    IN_ROW_OF = "in the row of"


class Comparison(StrEnum):
    """How a text is compared."""

    EQUALS = "equals"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class NameReading:
    """One way to read the words for an element: its name, what it must be if said, and which of several it is.

    `ordinal` counts from 1, -1 is the last. An empty name means any element of these roles.
    """

    name: str
    roles: frozenset[Role] = frozenset()
    ordinal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementReference:
    """Which element is meant: the readings of the author's `phrase`, in the order in which they are to be believed.

    `quoted` if the author put the name in quotes, `partly` if the element has to contain the name only, `by_id` if the
    name is its id. `related` is tried last: an element seen from another one.
    """

    phrase: str
    readings: tuple[NameReading, ...]
    quoted: bool = False
    partly: bool = False
    by_id: bool = False
    related: "RelativeReference | None" = None

    @property
    def name(self) -> str:
        """The name that the last reading gives; empty where only a kind of element is said."""
        return self.readings[-1].name if self.readings else ""

    def __str__(self) -> str:
        return f'"{self.name}"' if self.quoted and self.related is None else self.phrase


@dataclass(frozen=True, slots=True)
class RelativeReference:
    """An element seen from another one."""

    this: ElementReference
    relation: Relation
    anchor: ElementReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """An action, and what it is about.

    `value` is the text to type or compare, the key, the direction, the link or the app; `comparison` says how a text is
    compared. `seconds` is how long to wait at most, or to hold.

    The rest narrows what may be done. `checked` is the state that a tap is to bring about; elements without one are
    left alone, unless `if_checkable`. With `toggles` what has a state is meant rather than a text. `tappable_only`
    spares what is not made for tapping. `whole_phrase` allows only an element that reads like the target's whole
    phrase, because the words could also mean something else. With `replaces` what a field holds is removed before the
    value is typed.
    """

    action: Action
    target: ElementReference | None = None
    value: str | None = None
    comparison: Comparison = Comparison.EQUALS
    seconds: float | None = None
    checked: bool | None = None
    if_checkable: bool = False
    toggles: bool = False
    tappable_only: bool = False
    whole_phrase: bool = False
    replaces: bool = False

    @property
    def needs_screen(self) -> bool:
        """Whether it is about an element, which the screen has to show."""
        return self.target is not None or self.action in (Action.TYPE, Action.CLEAR)


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """The rules cannot say what the sentence means; `why` says what stands in the way and what would help."""

    why: str
