"""Steps and flows: sentences, commands, and the commands that hold other steps."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mobiletest_automation.flows.app_commands import AppCommand
from mobiletest_automation.flows.assertion_commands import AssertionCommand
from mobiletest_automation.flows.capture_commands import AiCommand, CaptureCommand
from mobiletest_automation.flows.commands import BaseCommand, CommandSpec
from mobiletest_automation.flows.device_commands import DeviceCommand
from mobiletest_automation.flows.nodes import Location, Node, read_optional
from mobiletest_automation.flows.script_commands import ScriptCommand
from mobiletest_automation.flows.selectors import ALWAYS, COMMON_FIELDS, Condition, read_condition
from mobiletest_automation.flows.text_commands import TextCommand
from mobiletest_automation.flows.touch_commands import TouchCommand
from mobiletest_automation.flows.variables import ON_COMPLETE, read_env

# How many steps a test may have, including those inside other steps.
STEP_LIMIT = 1_000
TIMES_LIMIT = 1_000_000_000
# More are taken as this many, as in Maestro.
RETRIES_LIMIT = 3

StepsReader: TypeAlias = "Callable[[Node], tuple[Step, ...]]"

_INLINE = "not supported in steps: list its commands under commands, or send flow and flow_files"


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


def _read_run_flow(node: Node, inside: StepsReader) -> BaseCommand:
    if not node.is_mapping or "file" in node.mapping():
        raise node.error(f"runFlow with a file is {_INLINE}")
    entries = node.fields(("commands", "when", "env", ON_COMPLETE, *COMMON_FIELDS), required=("commands",))
    return RunFlow(
        inside(entries["commands"]),
        read_optional(entries, "when", read_condition) or ALWAYS,
        read_optional(entries, "env", read_env) or (),
        read_optional(entries, ON_COMPLETE, inside) or (),
    )


@dataclass(frozen=True, slots=True)
class Repeat(BaseCommand):
    """Repeat the commands at most `times` times, as long as the condition holds."""

    commands: "tuple[Step, ...]"
    times: int | None = None
    condition: Condition = ALWAYS

    @property
    def subject(self) -> str:
        return f"{self.times} times" if self.times is not None else "while"


def _read_repeat(node: Node, inside: StepsReader) -> BaseCommand:
    entries = node.fields(("times", "while", "commands", *COMMON_FIELDS), required=("commands",))
    times = read_optional(entries, "times", lambda value: max(int(value.number(-TIMES_LIMIT, TIMES_LIMIT)), 0))
    return Repeat(inside(entries["commands"]), times, read_optional(entries, "while", read_condition) or ALWAYS)


@dataclass(frozen=True, slots=True)
class Retry(BaseCommand):
    """Run the commands again if they fail; `env` are additional variables for them."""

    commands: "tuple[Step, ...]"
    max_retries: int = 1
    env: tuple[tuple[str, str], ...] = ()

    @property
    def subject(self) -> str:
        return f"up to {self.max_retries} times"


def _read_retry(node: Node, inside: StepsReader) -> BaseCommand:
    if node.is_mapping and "file" in node.mapping():
        raise node.mapping()["file"].error_at_key(f"retry with a file is {_INLINE}")
    entries = node.fields(("maxRetries", "commands", "env", *COMMON_FIELDS), required=("commands",))
    retries = read_optional(entries, "maxRetries", lambda value: value.integer(-TIMES_LIMIT, TIMES_LIMIT))
    env = read_optional(entries, "env", read_env) or ()
    return Retry(inside(entries["commands"]), 1 if retries is None else min(max(retries, 0), RETRIES_LIMIT), env)


BlockCommand: TypeAlias = RunFlow | Repeat | Retry
BLOCK_COMMANDS = (
    CommandSpec(
        "runFlow",
        _read_run_flow,
        "files that run each other in a circle are refused when the test is saved",
        holds_steps=True,
    ),
    CommandSpec("repeat", _read_repeat, holds_steps=True),
    CommandSpec("retry", _read_retry, holds_steps=True),
)
Command: TypeAlias = (
    TouchCommand
    | AssertionCommand
    | TextCommand
    | AppCommand
    | DeviceCommand
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
    def value_path(self) -> str:
        """The path of its value among those of the test; `path` of a command ends in its arguments."""
        return self.path.removesuffix(f".{self.name}")

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

    def without(self, paths: Collection[str]) -> "Flow":
        """The flow without its own steps at these paths."""
        on_start, steps, on_complete = (
            tuple(step for step in own if step.path not in paths)
            for own in (self.on_start, self.steps, self.on_complete)
        )
        return replace(self, on_start=on_start, steps=steps, on_complete=on_complete)

    def every_step(self) -> Iterator[Step]:
        """All steps in order, those inside other steps after the one that holds them."""
        return walk(self.own_steps)


def walk(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps in order, and those inside them after the one that holds them."""
    for step in steps:
        yield step
        yield from walk(step.inner_steps)
