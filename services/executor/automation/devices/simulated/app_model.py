"""What an app model says: screens with elements, what happens on a tap, and what goes wrong how often."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from services.executor.automation.devices.simulated.expressions import ALWAYS, EMPTY, NEVER, Condition, Template, Value
from services.executor.automation.screen.elements import Role

PERMISSION = "permission."
"""What the name of a permission begins with, among the variables; it is allow, deny or unset."""

DEVICE: Mapping[str, Value] = {"device.orientation": "portrait", "device.latitude": 0.0, "device.longitude": 0.0}
"""What every model knows of the device, as it is at first. No effect can set it."""


@dataclass(frozen=True, slots=True)
class GoToScreen:
    screen: str


@dataclass(frozen=True, slots=True)
class GoBack:
    pass


@dataclass(frozen=True, slots=True)
class SetVariable:
    """Texts are templates, filled when the effect happens."""

    name: str
    value: Template | Value


@dataclass(frozen=True, slots=True)
class AddToVariable:
    name: str
    amount: int | float


@dataclass(frozen=True, slots=True)
class Crash:
    message: str


@dataclass(frozen=True, slots=True)
class Freeze:
    """The app does not react for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class DoNothing:
    """A defect: what should happen does not."""

    why: str


Effect: TypeAlias = GoToScreen | GoBack | SetVariable | AddToVariable | Crash | Freeze | DoNothing


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """The effects, if the condition holds and chance wants it so."""

    effects: tuple[Effect, ...]
    when: Condition = ALWAYS
    chance: float = 1.0


EventOutcomes: TypeAlias = tuple[EventOutcome, ...]
"""The first that applies happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """An element of a screen. `key` is its path in the model, for drawing chances.

    `bind` names the variable that a field or a switch holds. It appears `after` so many seconds on its screen, and only
    if `chance` wants it so, anew each time the screen is entered.
    """

    key: str
    role: Role
    text: Template = EMPTY
    label: Template = EMPTY
    hint: str = ""
    id: str = ""
    bind: str | None = None
    secret: bool = False
    enabled: Condition = ALWAYS
    visible: Condition = ALWAYS
    selected: Condition = NEVER
    after: float = 0.0
    chance: float = 1.0
    events: Mapping[str, EventOutcomes] = field(default_factory=dict)
    widgets: "tuple[Widget, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppScreen:
    """`delay` is how long it loads: until then there is only a progress indicator."""

    name: str
    title: Template = EMPTY
    delay: float = 0.0
    events: Mapping[str, EventOutcomes] = field(default_factory=dict)
    widgets: tuple[Widget, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """How much real time a simulated device takes: at the start of each step, and for each second of its own time."""

    step: float = 0.0
    scale: float = 0.0


NO_PACE = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppModel:
    """A whole app. `start` chooses the first screen, `launch` what goes wrong in starting.

    `permissions` are the names of those that it asks for; conditions know them as permission.NAME.
    """

    id: str
    name: str
    version: str
    start: EventOutcomes
    screens: Mapping[str, AppScreen]
    state: Mapping[str, Value] = field(default_factory=dict)
    links: Mapping[str, EventOutcomes] = field(default_factory=dict)
    permissions: tuple[str, ...] = ()
    launch: EventOutcomes = ()
    launch_delay: float = 0.0
    pace: Pace | None = None
