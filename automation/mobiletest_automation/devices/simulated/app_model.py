"""App models: screens with elements, what happens on a tap, and what fails how often."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from mobiletest_automation.flows.expressions import ConditionExpression, parse_condition
from mobiletest_automation.flows.templates import Value, to_text
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.screen.elements import Role

State: TypeAlias = Mapping[str, Value]

# Prefix of the variables that hold permissions: allow, deny or unset.
PERMISSION = "permission."

# Variables of the device with their initial values. No effect can set them.
DEVICE: State = {
    "device.orientation": "portrait",
    "device.rotation": 0,
    "device.latitude": 0.0,
    "device.longitude": 0.0,
    "device.airplane_mode": False,
    "device.dark_mode": False,
}

ALWAYS = parse_condition("true")
NEVER = parse_condition("false")

# Characters of a filled-in text: a model may double a variable with each tap.
FILLED_LIMIT = 4_000

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+(?:\.\w+)?)\}", re.UNICODE)


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A text with variables in braces; `{{` and `}}` are literal braces."""

    source: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset(match[1] for match in _PLACEHOLDER.finditer(self.source) if match[1])

    def fill(self, state: State) -> str:
        """The text with the values, cut at FILLED_LIMIT."""
        room = FILLED_LIMIT

        def value(match: re.Match[str]) -> str:
            nonlocal room
            text = cut(to_text(state[match[1]]), room) if match[1] else match[0][0]
            room -= len(text)
            return text

        return cut(_PLACEHOLDER.sub(value, self.source), FILLED_LIMIT)


EMPTY = TextTemplate("")


@dataclass(frozen=True, slots=True)
class GoToScreen:
    screen: str


@dataclass(frozen=True, slots=True)
class GoBack:
    pass


@dataclass(frozen=True, slots=True)
class SetVariable:
    """A template is filled when the effect happens."""

    name: str
    value: TextTemplate | Value


@dataclass(frozen=True, slots=True)
class AddToVariable:
    name: str
    amount: int | float


@dataclass(frozen=True, slots=True)
class Crash:
    message: str


@dataclass(frozen=True, slots=True)
class Freeze:
    """The app does not respond for `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DoNothing:
    """A defect: nothing happens where something should."""

    why: str


Effect: TypeAlias = GoToScreen | GoBack | SetVariable | AddToVariable | Crash | Freeze | DoNothing


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """Effects that happen if the condition holds, with a probability of `chance`."""

    effects: tuple[Effect, ...]
    when: ConditionExpression = ALWAYS
    chance: float = 1.0


# The first one that applies happens.
EventOutcomes: TypeAlias = tuple[EventOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """An element of a screen. `key` is its path in the model, from which chances are drawn.

    `bind` names the variable that a field or a switch holds. A field holds at most `max_length` characters, if that is
    not 0, and loses each typed one with a probability of `loses`. The element appears `after` this many seconds on its
    screen, with a probability of `chance` that is drawn each time the screen is entered.
    """

    key: str
    role: Role
    text: TextTemplate = EMPTY
    label: TextTemplate = EMPTY
    hint: str = ""
    id: str = ""
    bind: str | None = None
    secret: bool = False
    max_length: int = 0
    loses: float = 0.0
    enabled: ConditionExpression = ALWAYS
    visible: ConditionExpression = ALWAYS
    selected: ConditionExpression = NEVER
    after: float = 0.0
    chance: float = 1.0
    events: Mapping[str, EventOutcomes] = field(default_factory=dict)
    widgets: "tuple[Widget, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppScreen:
    """`delay` is how long the screen loads; until then it shows only a progress indicator."""

    name: str
    title: TextTemplate = EMPTY
    delay: float = 0.0
    events: Mapping[str, EventOutcomes] = field(default_factory=dict)
    widgets: tuple[Widget, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """How much real time a simulated device takes: at the start of each step, and per second of virtual time."""

    step: float = 0.0
    scale: float = 0.0


NO_PACE = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppModel:
    """A whole app. `start` chooses the first screen, `launch` what goes wrong in starting.

    `permissions` are the names of the permissions that it asks for; conditions use them as permission.NAME.
    """

    id: str
    name: str
    version: str
    start: EventOutcomes
    screens: Mapping[str, AppScreen]
    state: State = field(default_factory=dict)
    links: Mapping[str, EventOutcomes] = field(default_factory=dict)
    permissions: tuple[str, ...] = ()
    launch: EventOutcomes = ()
    launch_delay: float = 0.0
    pace: Pace | None = None
