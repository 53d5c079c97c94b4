"""What a sentence means, before anybody has looked at the screen."""

from dataclasses import dataclass
from enum import StrEnum

from services.executor.automation.elements import Role


class Action(StrEnum):
    """What can be done or checked, in the words of the API; NONE with a reason."""

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
    NONE = "none"


class Relation(StrEnum):
    """Where an element is, seen from another one."""

    BELOW = "below"
    ABOVE = "above"
    LEFT_OF = "left of"
    RIGHT_OF = "right of"
    NEXT_TO = "next to"
    INSIDE = "in"


class Comparison(StrEnum):
    """How a text is compared."""

    EQUALS = "equals"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which element is meant.

    `name` is what can be read on it, which it may contain only if `partly`; `quoted` if the author put it in quotes.
    `roles` is what it must be, if said. `ordinal` counts from 1, -1 is the last. `phrase` is the author's wording: an
    element that reads exactly so is meant, whatever else the words could say.
    """

    name: str
    phrase: str
    quoted: bool = False
    partly: bool = False
    roles: frozenset[Role] = frozenset()
    ordinal: int | None = None
    relation: Relation | None = None
    anchor: "Target | None" = None

    def __str__(self) -> str:
        return f'"{self.name}"' if self.name else self.phrase


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """An action, and what it is about.

    `value` is the text to type or compare, the key, the direction, the link or the app. `seconds` is how long to wait
    at most, or to hold. `checked` is the state that a tap is to bring about. `whole_phrase` allows only an element that
    reads like the target's whole phrase, because the words could also mean something else.
    """

    action: Action
    target: Target | None = None
    value: str | None = None
    comparison: Comparison = Comparison.EQUALS
    seconds: float | None = None
    checked: bool | None = None
    whole_phrase: bool = False


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """The rules cannot say what the sentence means; `why` says what stands in the way and what would help."""

    why: str
