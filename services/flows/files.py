"""Maestro files: an optional configuration, a line of dashes, a list of commands."""

from typing import TypeAlias

from services.flows.configuration import KEYS
from services.flows.documents import read_documents
from services.flows.errors import StepError
from services.flows.nodes import DocumentError, Node
from services.flows.parser import BOUNDS, faults, read_flow

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def parse_flow(text: str, root: str = "flow") -> list[Json]:
    """The steps of a Maestro file as JSON values, its configuration first. StepError, with line and column."""
    try:
        configuration, commands = _documents(text, root)
        node = _joined(configuration, commands)
        read_flow(node)
    except DocumentError as error:
        raise StepError(error.path, error.line, error.column, error.message) from error
    return [plain(item) for item in node.items()]


def check_flow(text: str, root: str = "flow") -> tuple[StepError, ...]:
    """Everything that is wrong with a Maestro file, at most one complaint for each command; empty: all is good."""
    found: list[DocumentError] = []
    try:
        configuration, commands = _documents(text, root)
        try:
            return faults(_joined(configuration, commands))
        except DocumentError as error:
            found = [error, *faults(commands)]
    except DocumentError as error:
        found.append(error)
    return tuple(StepError(error.path, error.line, error.column, error.message) for error in found)


def _documents(text: str, root: str) -> tuple[Node | None, Node]:
    """The configuration, if there is one, and the commands."""
    documents = read_documents(text, root, BOUNDS, limit=2)
    commands = documents[-1]
    if commands.is_mapping and set(commands.mapping()) & set(KEYS):
        raise commands.fault("the commands are missing: after the configuration comes ---, and then their list")
    return (documents[0] if len(documents) > 1 and not documents[0].is_null else None), commands


def _joined(configuration: Node | None, commands: Node) -> Node:
    """The list of steps that a file means."""
    if configuration is None:
        return commands
    configuration.fields(KEYS)
    return Node((configuration, *commands.items()), commands.place)


def plain(node: Node) -> Json:
    """The JSON value of a node. A number that JSON would not write so ("007") is the text that was written."""
    match node.value:
        case tuple() as items:
            return [plain(item) for item in items]
        case str() | int() | float() | None as scalar:
            return scalar if isinstance(scalar, str | bool | None) or str(scalar) == node.written else node.written
        case entries:
            return {name: plain(child) for name, child in entries.items()}
