"""Steps from JSON values or YAML text: read, checked, and refused with the place and the nearest known word."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from services.flows.argument_readers import COMMON_FIELDS, is_optional, read_condition, read_env
from services.flows.command_readers import COMMAND_READERS
from services.flows.configuration import is_configuration, read_configuration
from services.flows.documents import Limits, read_json, read_yaml
from services.flows.interpolation import fill_node, mark_pending, parse_template
from services.flows.nodes import DocumentError, Node, StepError, read_optional, suggest
from services.flows.steps import ALWAYS, Command, Flow, Repeat, Retry, RunFlow, Sentence, Step
from services.flows.unsupported_commands import UNSUPPORTED, describe_unknown
from services.flows.values import ExpressionError
from services.flows.variables import Scope

STEP_LIMIT = 1_000
"""How many steps a test may have, those inside other steps included."""

SENTENCE_LIMIT = 500
NESTING_LIMIT = 8
TIMES_LIMIT = 1_000
RETRIES_LIMIT = 10
TEXT_LIMITS = Limits()
JSON_LIMITS = Limits(characters=512 * 1024)
"""Of a list of steps in JSON: what a Maestro file becomes with the files that it runs, too."""

StepsReader = Callable[[Node], tuple[Step, ...]]
"""Reads the steps that a step holds."""


def parse(value: object, root: str = "steps") -> Flow:
    """The flow in a list of JSON values (texts, {command: arguments}, first of all perhaps a configuration) or in YAML
    text of the same. Raises StepError for the first thing that is wrong, and nothing else.
    """
    try:
        return read_flow(_read_value(value, root))
    except DocumentError as error:
        raise _step_error(error) from error


def parse_steps(value: object, root: str = "steps") -> tuple[Step, ...]:
    """The steps alone, see `parse`."""
    return parse(value, root).steps


def check_steps(value: object, root: str = "steps") -> tuple[StepError, ...]:
    """Everything that is wrong with the steps, at most one complaint for each step of the list; empty: all is good."""
    try:
        return faults(_read_value(value, root))
    except DocumentError as error:
        return (_step_error(error),)


def faults(node: Node) -> tuple[StepError, ...]:
    """Everything that is wrong with a list of steps, see `check_steps`."""
    found = [_step_error(error) for read, item in _readers(node) if (error := _fault(read, item)) is not None]
    if not found:
        error = _fault(read_flow, node)
        found = [_step_error(error)] if error is not None else []
    return tuple(found)


def fill_step(step: Step, scope: Scope) -> Step:
    """The step with the values that its variables have now; it can be filled again later. StepError: one has none, or
    the command cannot have this value.
    """
    node = step.pending
    if node is None:
        return step
    try:
        if isinstance(step.command, Sentence):
            return replace(_sentence(fill_node(node, lambda text: _spoken(text, scope))), pending=node)
        whole = fill_node(node, lambda text: parse_template(text).fill(scope.lookup))
        command = step.command
        held = command.commands if isinstance(command, RunFlow | Repeat | Retry) else ()
        return replace(_read(step.name, whole, lambda _: held), pending=node)
    except DocumentError as error:
        raise _step_error(error) from error


def _read_value(value: object, root: str) -> Node:
    return read_yaml(value, root, TEXT_LIMITS) if isinstance(value, str) else read_json(value, root, JSON_LIMITS)


def read_flow(node: Node) -> Flow:
    """The flow in a list of steps. DocumentError."""
    items = node.items()
    flow = Flow(steps=())
    if items and is_configuration(items[0], COMMANDS):
        flow, items = _configuration(items[0]), items[1:]
    steps = tuple(_outermost(item) for item in items)
    if len(steps) == 0:
        raise node.error("a test needs at least one step")
    _count((*flow.on_start, *steps, *flow.on_complete))
    return replace(flow, steps=steps)


def _readers(node: Node) -> list[tuple[Callable[[Node], object], Node]]:
    """The entries of the list, each with what reads it."""
    readers: list[tuple[Callable[[Node], object], Node]] = [(_outermost, item) for item in node.items()]
    if readers and is_configuration(readers[0][1], COMMANDS):
        readers[0] = (_configuration, readers[0][1])
    return readers


def _configuration(node: Node) -> Flow:
    return read_configuration(node, lambda found: _steps(found, depth=1))


def _outermost(node: Node) -> Step:
    return _step(node, depth=0)


def _fault(read: Callable[[Node], object], node: Node) -> DocumentError | None:
    try:
        read(node)
    except DocumentError as error:
        return error
    return None


def _step_error(error: DocumentError) -> StepError:
    return StepError(error.path, error.line, error.column, error.message)


def _count(steps: tuple[Step, ...]) -> None:
    waiting, count = list(steps), 0
    while waiting:
        step = waiting.pop()
        count += 1
        if count > STEP_LIMIT:
            raise DocumentError(step.path, None, None, f"a test may have at most {STEP_LIMIT} steps")
        if isinstance(step.command, RunFlow | Repeat | Retry):
            waiting.extend(step.command.commands)


def _steps(node: Node, depth: int) -> tuple[Step, ...]:
    if depth > NESTING_LIMIT:
        raise node.error(f"steps may be nested at most {NESTING_LIMIT} deep")
    if not node.items():
        raise node.error("there is no command here")
    return tuple(_step(item, depth) for item in node.items())


def _step(node: Node, depth: int) -> Step:
    if isinstance(node.value, str):
        return _sentence_or_bare_command(node, depth)
    if not node.is_mapping:
        raise node.error("a step is a sentence or one command with its arguments")
    entries = node.mapping()
    if is_configuration(node, COMMANDS):
        raise node.error("the flow's configuration (appId, name, tags, env, ...) stands once, before the first step")
    if len(entries) != 1:
        raise node.error(f"a step has one command, not {len(entries)}" + _begins_a_new_step(entries))
    name, arguments = next(iter(entries.items()))
    if name not in COMMANDS:
        raise arguments.error_at_key(describe_unknown(name, COMMANDS))
    return _command(name, arguments, depth)


def _begins_a_new_step(entries: Mapping[str, Node]) -> str:
    names = [name for name in entries if name in COMMANDS]
    return "; begin each with a dash of its own" if len(names) > 1 else ""


def _sentence_or_bare_command(node: Node, depth: int) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    if text in COMMANDS:
        return _command(text, Node(None, node.location), depth)
    if text in UNSUPPORTED or _looks_like_a_command(text):
        raise node.error(describe_unknown(text, COMMANDS))
    sentence, pending = mark_pending(node)
    return replace(_sentence(sentence), pending=sentence if pending else None)


def _sentence(node: Node) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    if not text:
        raise node.error("the sentence is empty")
    return Step(path=node.location.path, name="sentence", command=Sentence(text))


def _spoken(text: str, scope: Scope) -> str:
    """A sentence with its variables filled in. No value can end the quotes that it stands in."""

    def lookup(name: str) -> object:
        value = scope.lookup(name)
        if isinstance(value, str) and '"' in value:
            raise ExpressionError(f"the value of {name} has a quote in it: use a command instead of a sentence")
        return value

    return parse_template(text).fill(lookup)  # type: ignore[arg-type]


def _looks_like_a_command(text: str) -> bool:
    """One word in camel case, or one that is nearly a command's name, is no sentence."""
    if not re.fullmatch(r"[A-Za-z]+", text):
        return False
    return re.search(r"[a-z][A-Z]", text) is not None or (text.islower() and bool(suggest(text, COMMANDS)))


def _command(name: str, arguments: Node, depth: int) -> Step:
    node, pending = mark_pending(arguments)
    return replace(_read(name, node, lambda held: _steps(held, depth + 1)), pending=node if pending else None)


def _read(name: str, node: Node, inside: StepsReader) -> Step:
    label, optional = None, False
    if node.is_mapping:
        label = read_optional(node.mapping(), "label", lambda found: found.string(limit=SENTENCE_LIMIT))
        optional = is_optional(node.mapping())
    command = BLOCK_READERS[name](node, inside) if name in BLOCK_READERS else COMMAND_READERS[name](node)
    return Step(path=node.location.path, name=name, command=command, label=label, optional=optional)


def _run_flow(node: Node, inside: StepsReader) -> Command:
    if not node.is_mapping or "file" in node.mapping():
        raise node.error(f"runFlow with a file is {_INLINE}")
    entries = node.fields(("commands", "when", "env", *COMMON_FIELDS), required=("commands",))
    when = read_optional(entries, "when", read_condition)
    return RunFlow(inside(entries["commands"]), when or ALWAYS, read_optional(entries, "env", read_env) or ())


def _repeat(node: Node, inside: StepsReader) -> Command:
    entries = node.fields(("times", "while", "commands", *COMMON_FIELDS), required=("commands",))
    if "times" not in entries and "while" not in entries:
        raise node.error("repeat needs times, while, or both")
    times = read_optional(entries, "times", lambda found: found.integer(0, TIMES_LIMIT))
    return Repeat(inside(entries["commands"]), times, read_optional(entries, "while", read_condition) or ALWAYS)


def _retry(node: Node, inside: StepsReader) -> Command:
    if node.is_mapping and "file" in node.mapping():
        raise node.mapping()["file"].error_at_key(f"retry with a file is {_INLINE}")
    entries = node.fields(("maxRetries", "commands", *COMMON_FIELDS), required=("commands",))
    retries = read_optional(entries, "maxRetries", lambda found: found.integer(0, RETRIES_LIMIT))
    return Retry(inside(entries["commands"]), 1 if retries is None else retries)


_INLINE = "not supported in steps: write its commands inline, under commands, or send flow and flow_files"

BLOCK_READERS: Mapping[str, Callable[[Node, StepsReader], Command]] = {
    "runFlow": _run_flow,
    "repeat": _repeat,
    "retry": _retry,
}
"""The commands that hold other steps."""

COMMANDS = frozenset((*COMMAND_READERS, *BLOCK_READERS))
"""The commands that are supported, by their names in Maestro."""
