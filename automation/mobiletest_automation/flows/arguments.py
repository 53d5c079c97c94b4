"""How the arguments of commands are read."""

from collections.abc import Callable, Mapping

from mobiletest_automation.flows.commands import BaseCommand
from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.selectors import COMMON_FIELDS, VALUE_LIMIT

# Reads the arguments of a command. Raise DocumentError.
Reader = Callable[[Node], BaseCommand]

# Longer pauses are shortened to this, as in Maestro.
SETTLE_LIMIT_SECONDS = 30
# The longest time that a run may take.
WAIT_LIMIT_SECONDS = 86_400


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
    """As `milliseconds`; None, for the default, if it is negative."""

    def read(node: Node) -> float | None:
        seconds = node.number(-limit_seconds * 1000, limit_seconds * 1000) / 1000
        return seconds if seconds >= 0 else None

    return read


def milliseconds(limit_seconds: float) -> Callable[[Node], float]:
    """Reads a duration in milliseconds, as seconds; a negative one is 0."""
    return lambda node: max(0.0, node.number(-limit_seconds * 1000, limit_seconds * 1000) / 1000)
