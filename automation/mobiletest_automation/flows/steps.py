"""Steps and flows: sentences, commands, and the commands that hold other steps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from mobiletest_automation.flows import commands, device_commands
from mobiletest_automation.flows.capture_commands import AiCommand, CaptureCommand, InputRandom
from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.nodes import Location, Node
from mobiletest_automation.flows.script_commands import EvalScript, RunScript
from mobiletest_automation.flows.selectors import ALWAYS, Condition

# How many steps a test may have, including those inside other steps.
STEP_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Sentence(BaseCommand):
    text: str


@dataclass(frozen=True, slots=True)
class RunFlow(BaseCommand):
    """Run the commands if `when` holds, then `on_complete`, also after a failure; `env` are additional variables."""

    commands: "tuple[Step, ...]"
    when: Condition = ALWAYS
    env: tuple[tuple[str, str], ...] = ()
    on_complete: "tuple[Step, ...]" = ()


@dataclass(frozen=True, slots=True)
class Repeat(BaseCommand):
    """Repeat the commands at most `times` times, as long as the condition holds."""

    commands: "tuple[Step, ...]"
    times: int | None = None
    condition: Condition = ALWAYS

    @property
    def subject(self) -> str:
        return f"{self.times} times" if self.times is not None else "while"


@dataclass(frozen=True, slots=True)
class Retry(BaseCommand):
    """Run the commands again if they fail; `env` are additional variables for them."""

    commands: "tuple[Step, ...]"
    max_retries: int = 1
    env: tuple[tuple[str, str], ...] = ()

    @property
    def subject(self) -> str:
        return f"up to {self.max_retries} times"


TapCommand: TypeAlias = commands.TapOn | commands.DoubleTapOn | commands.LongPressOn
SwipeCommand: TypeAlias = commands.Swipe | commands.Scroll | commands.ScrollUntilVisible
AssertionCommand: TypeAlias = (
    commands.AssertVisible
    | commands.AssertNotVisible
    | commands.AssertTrue
    | commands.ExtendedWaitUntil
    | commands.WaitForAnimationToEnd
)
TextCommand: TypeAlias = (
    commands.InputText
    | commands.EraseText
    | commands.PressKey
    | commands.CopyTextFrom
    | commands.SetClipboard
    | commands.PasteText
    | InputRandom
)
AppCommand: TypeAlias = (
    device_commands.LaunchApp
    | device_commands.StopApp
    | device_commands.KillApp
    | device_commands.ClearState
    | device_commands.ClearKeychain
    | device_commands.SetPermissions
    | device_commands.OpenLink
    | device_commands.OpenBrowser
    | device_commands.SetLocation
    | device_commands.Travel
    | device_commands.AddMedia
    | device_commands.SetMode
    | device_commands.AssertMode
    | device_commands.SetOrientation
    | commands.Back
    | commands.HideKeyboard
)
ScriptCommand: TypeAlias = EvalScript | RunScript
BlockCommand: TypeAlias = RunFlow | Repeat | Retry
Command: TypeAlias = (
    TapCommand
    | SwipeCommand
    | AssertionCommand
    | TextCommand
    | AppCommand
    | CaptureCommand
    | AiCommand
    | ScriptCommand
    | BlockCommand
    | Sentence
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command with its label and whether it is optional.

    `path` leads to it from the root ("steps[3].repeat.commands[0]"), and `location` is where it is written; `name` is
    that of the command, or "sentence". If an `optional` step fails, the test continues. `pending` is the node of a step
    with variables, from which `fill_step` makes the command to run; until then `command` has placeholders for them.
    """

    path: str
    name: str
    command: Command
    label: str | None = None
    optional: bool = False
    pending: Node | None = field(default=None, compare=False, repr=False)
    location: Location | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The label, or else the sentence, or else the command with its subject."""
        if self.label:
            return self.label
        if isinstance(self.command, Sentence):
            return self.command.text
        return f"{self.name}: {self.command.subject}" if self.command.subject else self.name

    @property
    def inner_steps(self) -> "tuple[Step, ...]":
        """The steps that it holds, without those inside them."""
        command = self.command
        if isinstance(command, RunFlow):
            return (*command.commands, *command.on_complete)
        return command.commands if isinstance(command, Repeat | Retry) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The steps of a test and its configuration.

    `app_ids` are the ids of the app under test, `env` the variables with their templates, and `env_locations` where the
    templates are written. `on_start` runs before the steps, `on_complete` after them whether they passed or failed.
    """

    steps: tuple[Step, ...]
    app_ids: frozenset[str] = frozenset()
    name: str | None = None
    tags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    env_locations: tuple[Location, ...] = field(default=(), compare=False, repr=False)
    on_start: tuple[Step, ...] = ()
    on_complete: tuple[Step, ...] = ()

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """The steps in order, also those of the hooks, without those inside them."""
        return (*self.on_start, *self.steps, *self.on_complete)

    def every_step(self) -> Iterator[Step]:
        """All steps in order, those inside other steps after the one that holds them."""
        return walk(self.own_steps)


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps in order, and those inside them after the one that holds them."""
    for step in steps:
        yield step
        yield from walk(step.inner_steps)
