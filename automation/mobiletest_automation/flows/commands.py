"""What all commands have: their base class, their declaration, and how their arguments are read.

The modules named `*_commands` have the commands of one kind: a class for each, its reader, and its declaration.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.selectors import COMMON_FIELDS, VALUE_LIMIT, Selector, read_element

# Longer pauses are shortened to this, as in Maestro.
SETTLE_LIMIT_SECONDS = 30
# The longest time that a run may take.
WAIT_LIMIT_SECONDS = 86_400


class BaseCommand:
    """A command; `subject` describes its arguments in a few words and may be empty."""

    __slots__ = ()
    # What the API calls the command, if it is not the name of the class.
    ACTION: ClassVar[str] = ""

    @property
    def action(self) -> str:
        """What the command does, as the API names it: "launch_app" for LaunchApp."""
        return self.ACTION or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def subject(self) -> str:
        return ""

    @property
    def declared_seconds(self) -> float:
        """How long the command may take by its own arguments; 0 if they say nothing."""
        return 0.0


@dataclass(frozen=True, slots=True)
class ElementCommand(BaseCommand):
    """A command whose only argument is an element."""

    selector: Selector

    @property
    def subject(self) -> str:
        return str(self.selector)


# Reads the arguments of a command. Raise DocumentError.
Reader: TypeAlias = Callable[[Node], BaseCommand]
# What becomes of a command on a kind of device.
Support: TypeAlias = Literal["yes", "no effect", "with a model", "refused"]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command by its name in Maestro, and its row in the table of docs/maestro.md, which `make commands` writes.

    A command that `holds_steps` is read with a second argument, which reads these. One that is `optional` is so unless
    it says otherwise; one that is `of_app` means the app of its file unless it names another.
    """

    name: str
    read: Callable[..., BaseCommand]
    difference: str = ""
    simulated: Support = "yes"
    chromium: Support = "yes"
    holds_steps: bool = False
    optional: bool = False
    of_app: bool = False


def single_argument(node: Node, field: str, *also: str) -> Node:
    """The only argument of a command: directly after its name, or as a field of this name."""
    return node.fields((field, *also, *COMMON_FIELDS), required=(field,))[field] if node.is_mapping else node


def optional_argument(node: Node, field: str, *also: str) -> Node | None:
    """As `single_argument`; None if it is not given."""
    if node.is_null:
        return None
    return node.fields((field, *also, *COMMON_FIELDS)).get(field) if node.is_mapping else node


def text_reader(command: Callable[[str], BaseCommand]) -> Reader:
    return lambda node: command(single_argument(node, "text").string(limit=VALUE_LIMIT))


def element_reader(command: Callable[[Selector], BaseCommand]) -> Reader:
    return lambda node: command(read_element(node))


def bare_reader(command: BaseCommand) -> Reader:
    def read(node: Node) -> BaseCommand:
        if not node.is_null:
            node.fields(COMMON_FIELDS)
        return command

    return read


def read_settle_seconds(entries: Mapping[str, Node]) -> float:
    seconds = read_optional(entries, "waitToSettleTimeoutMs", milliseconds_or_none(WAIT_LIMIT_SECONDS))
    return min(seconds or 0.0, SETTLE_LIMIT_SECONDS)


def milliseconds_or_none(limit_seconds: float) -> Callable[[Node], float | None]:
    """Reads a duration in milliseconds, as seconds; None, for the default, if it is negative."""

    def read(node: Node) -> float | None:
        seconds = node.number(-limit_seconds * 1000, limit_seconds * 1000) / 1000
        return seconds if seconds >= 0 else None

    return read
