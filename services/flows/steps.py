"""What a test says: sentences, commands, those that hold other steps, and a flow as a whole."""

from dataclasses import dataclass, field
from typing import TypeAlias

from services.flows.command_types import (
    AssertNotVisible,
    AssertTrue,
    AssertVisible,
    Back,
    BaseCommand,
    ClearState,
    CopyTextFrom,
    EraseText,
    ExtendedWaitUntil,
    HideKeyboard,
    InputText,
    LaunchApp,
    OpenLink,
    PasteText,
    PressKey,
    SetClipboard,
    SetLocation,
    SetOrientation,
    StopApp,
    TakeScreenshot,
    WaitForAnimationToEnd,
)
from services.flows.gestures import DoubleTapOn, LongPressOn, Scroll, ScrollUntilVisible, Swipe, TapOn
from services.flows.nodes import Node
from services.flows.selectors import Condition

STEP_LIMIT = 1_000
"""How many steps a test may have, those inside other steps included."""


@dataclass(frozen=True, slots=True)
class Sentence(BaseCommand):
    text: str


ALWAYS = Condition()


@dataclass(frozen=True, slots=True)
class RunFlow(BaseCommand):
    """`env` are the variables that the commands inside have besides."""

    commands: "tuple[Step, ...]"
    when: Condition = ALWAYS
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Repeat(BaseCommand):
    """At most `times` rounds, each only while the condition holds."""

    commands: "tuple[Step, ...]"
    times: int | None = None
    condition: Condition = ALWAYS

    @property
    def subject(self) -> str:
        return f"{self.times} times" if self.times is not None else "while"


@dataclass(frozen=True, slots=True)
class Retry(BaseCommand):
    commands: "tuple[Step, ...]"
    max_retries: int = 1

    @property
    def subject(self) -> str:
        return f"up to {self.max_retries} times"


Command: TypeAlias = (
    Sentence
    | LaunchApp
    | StopApp
    | ClearState
    | TapOn
    | DoubleTapOn
    | LongPressOn
    | InputText
    | EraseText
    | CopyTextFrom
    | SetClipboard
    | PasteText
    | PressKey
    | Back
    | HideKeyboard
    | Swipe
    | Scroll
    | ScrollUntilVisible
    | AssertVisible
    | AssertNotVisible
    | AssertTrue
    | ExtendedWaitUntil
    | WaitForAnimationToEnd
    | TakeScreenshot
    | OpenLink
    | SetLocation
    | SetOrientation
    | RunFlow
    | Repeat
    | Retry
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command with what was said about it.

    `path` names it from the root ("steps[3].repeat.commands[0]"), `name` is the command's or "sentence". The failure of
    an `optional` step is noted and the test goes on. `pending` is how it was written if there are variables in it: its
    command then only shows what is not filled in yet, see `filling`.
    """

    path: str
    name: str
    command: Command
    label: str | None = None
    optional: bool = False
    pending: Node | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """How a person would call it: its label, else the sentence, else the command and what it is about."""
        if self.label:
            return self.label
        if isinstance(self.command, Sentence):
            return self.command.text
        return f"{self.name}: {self.command.subject}" if self.command.subject else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The steps of a test, and what a Maestro file says before its commands.

    `app_ids` are the names that the app under test goes by, `env` variables with what they were written as. `on_start`
    runs before the steps, `on_complete` after them, however they ended.
    """

    steps: tuple[Step, ...]
    app_ids: frozenset[str] = frozenset()
    name: str | None = None
    tags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    on_start: tuple[Step, ...] = ()
    on_complete: tuple[Step, ...] = ()
