"""What a sentence means, and whether an element is as it says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mobiletest_automation.screen.elements import Element, Role
from mobiletest_automation.sentences.regions import Region


class Action(StrEnum):
    """What a sentence does or checks, as the API names it; commands have further actions (`BaseCommand.action`)."""

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
    """Where an element is, relative to another one."""

    BELOW = "below"
    ABOVE = "above"
    LEFT_OF = "left of"
    RIGHT_OF = "right of"
    NEXT_TO = "next to"
    INSIDE = "in"
    IN_ROW_OF = "in the row of"


class TextComparison(StrEnum):
    """How a text is compared."""

    EQUALS = "equals"
    # As EQUALS, but refused where the text has the value among other words: what shows "3 items" also shows "3".
    SHOWS = "shows"
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class NameReading:
    """One way to read a phrase: the name of the element, its roles if they are said, and which of several it is.

    `ordinal` counts from 1, -1 is the last. An empty name means any element of these roles.
    """

    name: str
    roles: frozenset[Role] = frozenset()
    ordinal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementReference:
    """Which element is meant: the readings of the author's `phrase`, the most likely first.

    `quoted`: the name was in quotes. `partly`: the element's text only has to contain the name. `by_id`: the name is
    its id. `related` is tried last: the element relative to another one. `region`: it is this part of the screen.
    `leads`: it begins the sentence, so that its first letter is a capital anyway.
    """

    phrase: str
    readings: tuple[NameReading, ...]
    quoted: bool = False
    partly: bool = False
    by_id: bool = False
    related: "RelativeReference | None" = None
    region: Region | None = None
    leads: bool = False

    @property
    def name(self) -> str:
        """The name in the last reading; empty if the phrase names only a kind of element."""
        return self.readings[-1].name if self.readings else ""

    @property
    def names(self) -> frozenset[str]:
        """The names in all readings."""
        return frozenset(reading.name for reading in self.readings if reading.name)

    def __str__(self) -> str:
        return f'"{self.name}"' if self.quoted and self.related is None else self.phrase


@dataclass(frozen=True, slots=True)
class RelativeReference:
    """An element relative to another one."""

    this: ElementReference
    relation: Relation
    anchor: ElementReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """An action and its arguments.

    `value` is the text to type or compare, the key, the direction, the link or the app; `comparison` says how a text is
    compared. `seconds` is how long to wait at most, or to hold.

    The rest restricts the action. `checked` is the state that a tap should bring about; an element without a state is
    refused, unless `if_checkable`. `toggles` prefers elements with a state to texts, `tappable_only` excludes what is
    not tappable. `whole_phrase` allows only an element that is named exactly like the target's phrase, because the
    words could also mean something else. `replaces` clears the field before the value is typed. `usable`: "enabled"
    cannot mean "switched on". `selects`: it says "selected", as of a tab, which is never on or off.
    `other_name`: what the sentence is about, if its first words are a name ("Confirm password is empty").
    """

    action: Action
    target: ElementReference | None = None
    value: str | None = None
    comparison: TextComparison = TextComparison.EQUALS
    seconds: float | None = None
    checked: bool | None = None
    if_checkable: bool = False
    toggles: bool = False
    tappable_only: bool = False
    whole_phrase: bool = False
    replaces: bool = False
    usable: bool = False
    selects: bool = False
    other_name: str = ""

    @property
    def needs_screen(self) -> bool:
        """Whether it acts on an element, which has to be on the screen."""
        return self.target is not None or self.action in (Action.TYPE, Action.CLEAR)


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """The rules do not understand the sentence; `why` says what is in the way and what to write instead."""

    why: str


def text_of(element: Element) -> str:
    """The text on an element; of a field, what is typed in."""
    return element.text if element.editable else element.text or element.label


_TYPED = str.maketrans(
    {**dict.fromkeys("‐‑–−", "-"), **dict.fromkeys("‘’", "'"), **dict.fromkeys("“”", '"'), "…": "..."}
)


def as_typed(text: str) -> str:
    """With spaces collapsed and signs as keyboards have them: "-" for a minus and dashes, straight quotes."""
    return " ".join(text.translate(_TYPED).split())


def has_text(intent: Intent, element: Element) -> bool:
    """Whether the text of the element compares to the value as the intent says."""
    expected, actual = as_typed(intent.value or ""), as_typed(text_of(element))
    if intent.comparison is TextComparison.CONTAINS:
        return expected.casefold() in actual.casefold()
    return expected == actual


# What "enabled" and "disabled" say of something that can be switched.
SWITCHED = {Action.ASSERT_ENABLED: Action.ASSERT_CHECKED, Action.ASSERT_DISABLED: Action.ASSERT_UNCHECKED}

ELEMENT_CHECKS: Mapping[str, Callable[[Intent, Element], bool]] = {
    Action.ASSERT_ENABLED: lambda intent, element: element.enabled,
    Action.ASSERT_DISABLED: lambda intent, element: not element.enabled,
    Action.ASSERT_CHECKED: lambda intent, element: element.on is True,
    Action.ASSERT_UNCHECKED: lambda intent, element: element.on is False,
    Action.ASSERT_TEXT: has_text,
}


def is_as_said(intent: Intent, element: Element) -> bool:
    """Whether an element that a model has chosen is as the check says. Of a switch, "enabled" says that it is on."""
    action = intent.action
    if element.checked is not None and not intent.usable:
        action = SWITCHED.get(action, action)
    return ELEMENT_CHECKS[action](intent, element) and (action not in SWITCHED or element.tappable)


def describe_mismatch(intent: Intent, element: Element) -> str:
    """How the element is, for a check that failed."""
    what = element.describe()
    match intent.action:
        case Action.ASSERT_ENABLED:
            return f"{what} is disabled"
        case Action.ASSERT_DISABLED:
            return f"{what} is enabled"
        case Action.ASSERT_CHECKED:
            return f"{what} is not checked"
        case Action.ASSERT_UNCHECKED:
            return f"{what} is checked"
        case _:
            relation = "does not contain" if intent.comparison is TextComparison.CONTAINS else "is not"
            return f'the text of {what} is "{text_of(element)}", which {relation} "{intent.value}"'
