"""Loads a flow, from the text of a Maestro file or from the JSON values that are stored of a test."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import TypeAlias

from mobiletest_automation.flows.configuration import is_configuration
from mobiletest_automation.flows.documents import DocumentLimits, SizeCounter, read_documents, read_json
from mobiletest_automation.flows.nodes import DocumentError, Node, Notice
from mobiletest_automation.flows.parser import COMMANDS, read_flow, split_steps
from mobiletest_automation.flows.patterns import limit_compile_cost
from mobiletest_automation.flows.positions import write_positions
from mobiletest_automation.flows.steps import Flow
from mobiletest_automation.flows.subflows import SubflowExpander, split_file
from mobiletest_automation.flows.templates import ExpressionError, parse_template
from mobiletest_automation.flows.workspace_media import Absent, FlowMedia, MediaFile, WorkspaceMedia

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
# Texts by their paths: from the root of the workspace, or relative to the folder of a flow whose path is unknown.
Files: TypeAlias = Mapping[str, str]

NO_FILES: Files = MappingProxyType({})
# Of the JSON values of a flow, which contain the commands of the files that it runs.
JSON_LIMITS = DocumentLimits(characters=512 * 1024)
# Conditions of one flow that are always true.
NOTICES_LIMIT = 20
ALWAYS_TRUE = "this is a text, which is always true: put the whole comparison into ${...}, as in ${NAME == 'value'}"
_COMPARISON = re.compile(r"[=!]==?|[<>]=?|&&|\|\|")
_CONDITIONS = {"assertTrue": "condition", "when": "true", "while": "true"}
_ASSERTIONS = (("assertTrue",), ("assertTrue", "condition"))


@dataclass(frozen=True, slots=True)
class LoadedFlow:
    """A flow with the JSON values of its steps, the configuration first; or its problems.

    `notices` are about what is kept, but has no effect, and about conditions that are always true. `files` are the
    pictures and videos that it needs, `positions` where its steps are (see `positions`), "" if its path is unknown.
    """

    steps: list[Json]
    flow: Flow | None
    problems: tuple[DocumentError, ...] = ()
    notices: tuple[Notice, ...] = ()
    files: tuple[MediaFile, ...] = ()
    positions: str = ""

    def require(self) -> Flow:
        """The flow.

        Raises:
            DocumentError: for the first problem.
        """
        if self.flow is None:
            raise self.problems[0]
        return self.flow


def load_flow(
    source: object,
    files: Files = NO_FILES,
    root: str = "flow",
    *,
    path: str = "",
    media: WorkspaceMedia | None = None,
    absent: Absent | None = None,
) -> LoadedFlow:
    """The flow in a Maestro file's text, with the files that it runs, or in a list of JSON values.

    The problems, at most one for each step, have line and column if `source` is a text; `root` begins their paths.
    `path` is that of the flow in its workspace, from whose root all files are named then, also those of `media`.
    `absent` says why a file is not among them.
    """
    problems: list[DocumentError] = []
    notices: list[Notice] = []
    flow: Flow | None = None
    steps: list[Json] = []
    flow_media = FlowMedia(media, notices, absent)
    try:
        if isinstance(source, str):
            expander = SubflowExpander(files, root, path, flow_media, problems, notices, absent)
            configuration, commands = expander.expand_file(*split_file(read_documents(source, root, limit=2)))
        else:
            configuration, commands = split_steps(read_json(source, root, JSON_LIMITS))
        with limit_compile_cost():
            flow = read_flow(configuration, commands, problems, notices)
        for node in (configuration, commands):
            notices += constant_conditions(node) if node is not None else ()
        steps = _to_json(source, configuration, commands) if flow is not None else []
    except DocumentError as error:
        problems.append(error)
    unique = tuple({str(problem): problem for problem in problems}.values())
    noted, used = tuple(dict.fromkeys(notices)), flow_media.files
    if unique or flow is None:
        return LoadedFlow([], None, unique, noted)
    return LoadedFlow(steps, flow, (), noted, used, write_positions(flow) if path else "")


def parse_flow(source: object, root: str = "steps") -> Flow:
    """The flow in a list of JSON values, or in a text.

    Raises:
        DocumentError: for the first problem.
    """
    return load_flow(source, root=root).require()


def _to_json(source: object, configuration: Node | None, commands: Node) -> list[Json]:
    """JSON values, within the limits with which they are read again."""
    if isinstance(source, list | tuple):
        return list(source)
    size = SizeCounter(JSON_LIMITS, values=1, note=" in all, with the files that are run")
    nodes = (*_storable(configuration), *commands.items())
    return [_write_json(node, size, depth=1) for node in nodes]


def _storable(configuration: Node | None) -> tuple[Node, ...]:
    """The configuration without the unknown keys that would make it look like a step when it is read again."""
    if configuration is None:
        return ()
    entries = {name: child for name, child in configuration.mapping().items() if name not in COMMANDS}
    kept = replace(configuration, value=entries)
    return (kept,) if is_configuration(kept, COMMANDS) else ()


def _write_json(node: Node, size: SizeCounter, depth: int, path: tuple[str, ...] = ()) -> Json:
    """What JSON would write differently (007, TRUE) becomes the text that it was, but in launch arguments.

    What assertTrue gets is a boolean if it is a word for one: there `no` is not "no".
    """
    match node.value:
        case tuple() as items:
            size.add_collection(depth, node.location)
            return [_write_json(item, size, depth + 1, path) for item in items]
        case str() | int() | float() | None as scalar:
            size.add_scalar(node.raw, node.location)
            is_argument = path[-3:-1] == ("launchApp", "arguments")
            if is_argument or path[-1:] in _ASSERTIONS or path[-2:] in _ASSERTIONS:
                return scalar if node.old_value is None else node.old_value
            typed = isinstance(scalar, str | None) or is_argument
            written = str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
            return scalar if typed or written == node.raw else node.raw
        case entries:
            size.add_collection(depth, node.location)
            return {name: _write_json(child, size, depth + 1, (*path, name)) for name, child in entries.items()}


def constant_conditions(node: Node) -> list[Notice]:
    """A notice for each condition in the steps that compares nothing.

    A text around ${...} is a text, and is true whatever the variables are.
    """
    notices = (condition.location.notice(ALWAYS_TRUE) for condition in _conditions(node) if _is_constant(condition))
    return list(islice(notices, NOTICES_LIMIT))


def _conditions(node: Node) -> Iterator[Node]:
    if isinstance(node.value, tuple):
        for item in node.value:
            yield from _conditions(item)
    elif node.is_mapping:
        for name, child in node.mapping().items():
            yield from _condition(name, child)
            yield from _conditions(child)


def _condition(name: str, node: Node) -> Iterator[Node]:
    argument = _CONDITIONS.get(name)
    if argument is None:
        return
    if not node.is_mapping:
        yield node
    elif argument in node.mapping():
        yield node.mapping()[argument]


def _is_constant(node: Node) -> bool:
    """Whether there is a comparison, or what is compared, outside of ${...}."""
    if not isinstance(node.value, str):
        return False
    try:
        texts = [part for part in parse_template(node.value).parts if isinstance(part, str)]
    except ExpressionError:
        return False
    return any(_COMPARISON.search(text) for text in texts)
