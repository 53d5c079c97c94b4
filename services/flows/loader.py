"""Maestro files: an optional configuration, a line of dashes, a list of commands; and the files that these run."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from services.flows.documents import read_documents
from services.flows.nodes import DocumentError, Node, StepError
from services.flows.parser import faults, parse, read_flow
from services.flows.subflows import expand_flow

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Files: TypeAlias = Mapping[str, str]
"""Texts by their paths, seen from the folder of the flow."""

NO_FILES: Files = MappingProxyType({})


def parse_flow(text: str, files: Files = NO_FILES, root: str = "flow") -> list[Json]:
    """The steps of a Maestro file as JSON values, its configuration first. StepError, with line and column.

    The commands of other `files` stand where they are run.
    """
    try:
        node = expand_flow(text, root, files)
        read_flow(node)
    except DocumentError as error:
        raise StepError(error.path, error.line, error.column, error.message) from error
    steps = [to_json(item) for item in node.items()]
    parse(steps, root)
    return steps


def check_flow(text: str, files: Files = NO_FILES, root: str = "flow") -> tuple[StepError, ...]:
    """Everything that is wrong with a Maestro file, at most one complaint for each command; empty: all is good."""
    try:
        found = faults(expand_flow(text, root, files))
        if not found:
            parse_flow(text, files, root)
        return found
    except DocumentError as error:
        first = StepError(error.path, error.line, error.column, error.message)
    return (first, *_faults_behind(text, root, first))


def _faults_behind(text: str, root: str, first: StepError) -> tuple[StepError, ...]:
    """What is wrong with the commands of a file whose configuration is wrong."""
    try:
        documents = read_documents(text, root, limit=2)
        behind = len(documents) == 2 and (first.line or 0) < (documents[1].location.line or 0) and first.path == root
        return faults(documents[1]) if behind else ()
    except DocumentError:
        return ()


def to_json(node: Node) -> Json:
    """The JSON value of a node. A number that JSON would not write so ("007") is the text that was written."""
    match node.value:
        case tuple() as items:
            return [to_json(item) for item in items]
        case str() | int() | float() | None as scalar:
            return scalar if isinstance(scalar, str | bool | None) or str(scalar) == node.raw else node.raw
        case entries:
            return {name: to_json(child) for name, child in entries.items()}
