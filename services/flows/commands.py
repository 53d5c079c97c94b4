"""What a step can say: a sentence, or one of the commands of Maestro flows that are supported."""

from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from services.flows.pattern import Pattern

Direction: TypeAlias = Literal["up", "down", "left", "right"]
"""Where the finger moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Which element is meant: the one that fits everything that is said here. `index` counts from 0, from the top."""

    text: Pattern | None = None
    id: Pattern | None = None
    index: int | None = None
    enabled: bool | None = None
    checked: bool | None = None
    focused: bool | None = None
    selected: bool | None = None
    below: "Selector | None" = None
    above: "Selector | None" = None
    left_of: "Selector | None" = None
    right_of: "Selector | None" = None
    child_of: "Selector | None" = None
    contains_child: "Selector | None" = None

    def __str__(self) -> str:
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(_criterion(name, value) for name, value in said.items() if value is not None)


def _criterion(name: str, value: object) -> str:
    match name, value:
        case "text", Pattern():
            return f'"{value.source}"'
        case _, Pattern():
            return f'{name} "{value.source}"'
        case _, Selector():
            return f"{name.replace('_', ' ')} ({value})"
        case _, bool():
            return name if value else f"not {name}"
        case _:
            return f"{name} {value}"


@dataclass(frozen=True, slots=True)
class Position:
    """A point of the screen: in pixels, or as a share 0..1 of its width and height when `relative`."""

    x: float
    y: float
    relative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """All of it must hold; `platform` is android or ios."""

    visible: Selector | None = None
    not_visible: Selector | None = None
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str


@dataclass(frozen=True, slots=True)
class LaunchApp:
    """Start the app under test, or `app_id`; a running one is stopped first unless `stop_app` is false."""

    app_id: str | None = None
    clear_state: bool = False
    stop_app: bool = True


@dataclass(frozen=True, slots=True)
class StopApp:
    app_id: str | None = None


@dataclass(frozen=True, slots=True)
class TapOn:
    selector: Selector


@dataclass(frozen=True, slots=True)
class InputText:
    """Type into the field that has the focus."""

    text: str


@dataclass(frozen=True, slots=True)
class EraseText:
    characters: int = 50


@dataclass(frozen=True, slots=True)
class Back:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Swipe:
    """From `start` to `end`, or in a `direction` across the screen or from the element `source`."""

    direction: Direction | None = None
    start: Position | None = None
    end: Position | None = None
    source: Selector | None = None
    seconds: float = 0.4


@dataclass(frozen=True, slots=True)
class Scroll:
    """One swipe that shows what is further down."""


@dataclass(frozen=True, slots=True)
class AssertVisible:
    selector: Selector


@dataclass(frozen=True, slots=True)
class AssertNotVisible:
    selector: Selector


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendedWaitUntil:
    """Wait until the one is visible and the other is not; None for the time limit of a step."""

    visible: Selector | None = None
    not_visible: Selector | None = None
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TakeScreenshot:
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RunFlow:
    commands: "tuple[Step, ...]"
    when: Condition = Condition()


@dataclass(frozen=True, slots=True)
class Repeat:
    """At most `times` rounds, each only while the condition holds."""

    commands: "tuple[Step, ...]"
    times: int | None = None
    condition: Condition = Condition()


@dataclass(frozen=True, slots=True)
class Retry:
    commands: "tuple[Step, ...]"
    max_retries: int = 1


Command: TypeAlias = (
    Sentence
    | LaunchApp
    | StopApp
    | TapOn
    | InputText
    | EraseText
    | Back
    | Swipe
    | Scroll
    | AssertVisible
    | AssertNotVisible
    | ExtendedWaitUntil
    | TakeScreenshot
    | RunFlow
    | Repeat
    | Retry
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command with what was said about it.

    `path` names it from the root ("steps[3].repeat.commands[0]"), `name` is the command's or "sentence". The failure of
    an `optional` step is noted and the test goes on.
    """

    path: str
    name: str
    command: Command
    label: str | None = None
    optional: bool = False

    @property
    def title(self) -> str:
        """How a person would call it: its label, else the sentence, else the command and what it is about."""
        if self.label:
            return self.label
        if isinstance(self.command, Sentence):
            return self.command.text
        subject = _subject(self.command)
        return f"{self.name}: {subject}" if subject else self.name


def _subject(command: Command) -> str:
    match command:
        case TapOn(selector) | AssertVisible(selector) | AssertNotVisible(selector):
            return str(selector)
        case InputText(text):
            return f'"{text}"'
        case EraseText(characters):
            return f"{characters} characters"
        case LaunchApp(app_id) | StopApp(app_id):
            return app_id or ""
        case Swipe():
            return command.direction or "from point to point"
        case ExtendedWaitUntil():
            return _waited(command)
        case TakeScreenshot(name):
            return name or ""
        case Repeat(_, times):
            return f"{times} times" if times is not None else "while"
        case Retry(_, retries):
            return f"up to {retries} times"
        case _:
            return ""


def _waited(command: ExtendedWaitUntil) -> str:
    parts = [f"visible {command.visible}"] if command.visible else []
    parts += [f"not visible {command.not_visible}"] if command.not_visible else []
    return ", ".join(parts)
