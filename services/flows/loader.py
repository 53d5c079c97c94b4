"""Loads a flow, from the text of a Maestro file or from the JSON values that are stored of a test."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from services.flows.documents import Limits, SizeCounter, read_documents, read_json
from services.flows.nodes import DocumentError, Node
from services.flows.parser import read_flow
from services.flows.patterns import limit_compile_cost
from services.flows.steps import Flow
from services.flows.subflows import SubflowExpander, split_file

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Files: TypeAlias = Mapping[str, str]
"""Texts by their paths, relative to the folder of the flow."""

NO_FILES: Files = MappingProxyType({})
JSON_LIMITS = Limits(characters=512 * 1024)
"""Of the JSON values of a flow, which contain the commands of the files that it runs."""


@dataclass(frozen=True, slots=True)
class LoadedFlow:
    """A flow with the JSON values of its steps, the configuration first; or its problems."""

    steps: list[Json]
    flow: Flow | None
    problems: tuple[DocumentError, ...] = ()

    def require(self) -> Flow:
        """The flow. Raise DocumentError for the first problem."""
        if self.flow is None:
            raise self.problems[0]
        return self.flow


def load_flow(source: object, files: Files = NO_FILES, root: str = "flow") -> LoadedFlow:
    """The flow in a Maestro file's text, with the files that it runs, or in a list of JSON values.

    The problems, at most one for each step, have line and column if `source` is a text; `root` begins their paths.
    """
    problems: list[DocumentError] = []
    try:
        configuration, commands = _read_nodes(source, files, root)
        with limit_compile_cost():
            flow = read_flow(configuration, commands, problems)
        steps = _to_json(source, configuration, commands) if flow is not None else []
    except DocumentError as error:
        return LoadedFlow([], None, (*problems, error))
    return LoadedFlow(steps, flow, tuple(problems))


def parse_flow(source: object, root: str = "steps") -> Flow:
    """The flow in a list of JSON values, or in a text. Raise DocumentError for the first problem."""
    return load_flow(source, root=root).require()


def _read_nodes(source: object, files: Files, root: str) -> tuple[Node | None, Node]:
    """The configuration and the commands, with those of the files that the flow runs in their places."""
    if not isinstance(source, str):
        return None, read_json(source, root, JSON_LIMITS)
    configuration, commands = split_file(read_documents(source, root, limit=2))
    if files:
        expander = SubflowExpander(files, root)
        commands = expander.expand_steps(commands)
        configuration = expander.expand_configuration(configuration) if configuration is not None else None
    return configuration, commands


def _to_json(source: object, configuration: Node | None, commands: Node) -> list[Json]:
    """JSON values, within the limits with which they are read again."""
    if isinstance(source, list | tuple):
        return list(source)
    size = SizeCounter(JSON_LIMITS, values=1, note=" in all, with the files that are run")
    nodes = (configuration, *commands.items()) if configuration else commands.items()
    return [_write_json(node, size, depth=1) for node in nodes]


def _write_json(node: Node, size: SizeCounter, depth: int) -> Json:
    """A number that JSON would write differently ("007") becomes the text that it was."""
    match node.value:
        case tuple() as items:
            size.add_collection(depth, node.location)
            return [_write_json(item, size, depth + 1) for item in items]
        case str() | int() | float() | None as scalar:
            size.add_scalar(node.raw, node.location)
            return scalar if isinstance(scalar, str | bool | None) or str(scalar) == node.raw else node.raw
        case entries:
            size.add_collection(depth, node.location)
            return {name: _write_json(child, size, depth + 1) for name, child in entries.items()}
