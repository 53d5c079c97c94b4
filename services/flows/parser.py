"""Steps from JSON values or YAML text: read, checked, and refused with the place and the nearest known word."""

import re
from collections.abc import Callable, Mapping

from services.flows.commands import (
    Command,
    Condition,
    Repeat,
    Retry,
    RunFlow,
    Sentence,
    Step,
)
from services.flows.documents import Bounds, read_json, read_yaml
from services.flows.errors import StepError
from services.flows.leaves import COMMON, LEAVES
from services.flows.nodes import DocumentError, Node, given, nearest, shown
from services.flows.reading import condition, without_variables

STEP_LIMIT = 1_000
"""How many steps a test may have, those inside other steps included."""

SENTENCE_LIMIT = 500
NESTING_LIMIT = 8
TIMES_LIMIT = 1_000
RETRIES_LIMIT = 10
BOUNDS = Bounds()


def parse_steps(value: object, root: str = "steps") -> tuple[Step, ...]:
    """The steps of a test, from a list of JSON values (texts or {command: arguments}) or from YAML text of the same.

    Raises StepError for the first thing that is wrong, and nothing else.
    """
    try:
        steps = _steps(_document(value, root), depth=0)
        if len(steps) == 0:
            raise DocumentError(root, None, None, "a test needs at least one step")
        return _counted(steps)
    except DocumentError as error:
        raise StepError(error.path, error.line, error.column, error.message) from error


def check_steps(value: object, root: str = "steps") -> tuple[StepError, ...]:
    """Everything that is wrong with the steps, at most one complaint for each step of the list; empty: all is good."""
    try:
        nodes = _document(value, root).items()
    except DocumentError as error:
        return (StepError(error.path, error.line, error.column, error.message),)
    found: list[StepError] = []
    for node in nodes:
        try:
            _step(node, depth=0)
        except DocumentError as error:
            found.append(StepError(error.path, error.line, error.column, error.message))
    if found:
        return tuple(found)
    try:
        parse_steps(value, root)
    except StepError as error:
        return (error,)
    return ()


def _document(value: object, root: str) -> Node:
    return read_yaml(value, root, BOUNDS) if isinstance(value, str) else read_json(value, root, BOUNDS)


def _counted(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    waiting, count = list(steps), 0
    while waiting:
        step = waiting.pop()
        count += 1
        if count > STEP_LIMIT:
            raise DocumentError(step.path, None, None, f"a test may have at most {STEP_LIMIT} steps")
        if isinstance(step.command, RunFlow | Repeat | Retry):
            waiting.extend(step.command.commands)
    return steps


def _steps(node: Node, depth: int) -> tuple[Step, ...]:
    if depth > NESTING_LIMIT:
        raise node.fault(f"steps may be nested at most {NESTING_LIMIT} deep")
    if depth > 0 and not node.items():
        raise node.fault("there is no command here")
    return tuple(_step(item, depth) for item in node.items())


def _step(node: Node, depth: int) -> Step:
    if isinstance(node.value, str):
        return _sentence_or_bare_command(node, depth)
    if not node.is_mapping:
        raise node.fault("a step is a sentence or one command with its arguments")
    entries = node.mapping()
    if len(entries) != 1:
        raise node.fault(f"a step has one command, not {len(entries)}" + _begins_a_new_step(entries))
    name, arguments = next(iter(entries.items()))
    if name not in COMMANDS:
        raise arguments.fault_of_name(_unknown(name))
    return _command(name, arguments, depth)


def _begins_a_new_step(entries: Mapping[str, Node]) -> str:
    names = [name for name in entries if name in COMMANDS]
    return "; begin each with a dash of its own" if len(names) > 1 else ""


def _sentence_or_bare_command(node: Node, depth: int) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    if not text:
        raise node.fault("the sentence is empty")
    if text in COMMANDS:
        return _command(text, Node(None, node.place), depth)
    if _looks_like_a_command(text):
        raise node.fault(_unknown(text))
    without_variables(node)
    return Step(path=node.place.path, name="sentence", command=Sentence(text))


def _looks_like_a_command(text: str) -> bool:
    """One word in camel case, or one that is nearly a command's name, is no sentence."""
    if not re.fullmatch(r"[A-Za-z]+", text):
        return False
    return re.search(r"[a-z][A-Z]", text) is not None or (text.islower() and bool(nearest(text, COMMANDS)))


def _unknown(name: str) -> str:
    if " " in name.strip():
        return f"unknown command {shown(name)}; a sentence with a colon must stand in quotes"
    return f"unknown command {shown(name)}{nearest(name, COMMANDS) or _known()}"


def _known() -> str:
    return f"; known: {', '.join(sorted(COMMANDS))}"


def _command(name: str, arguments: Node, depth: int) -> Step:
    label, optional = None, False
    if arguments.is_mapping:
        entries = arguments.mapping()
        label = given(entries, "label", lambda found: found.string(limit=SENTENCE_LIMIT))
        optional = given(entries, "optional", Node.boolean) or False
    command = NESTING[name](arguments, depth) if name in NESTING else LEAVES[name](arguments)
    return Step(path=arguments.place.path, name=name, command=command, label=label, optional=optional)


def _run_flow(node: Node, depth: int) -> Command:
    if not node.is_mapping or "file" in node.mapping():
        raise node.fault("runFlow with a file is not supported: write its commands inline, under commands")
    entries = node.fields(("commands", "when", *COMMON), required=("commands",))
    when = given(entries, "when", lambda found: condition(found, platform=True))
    return RunFlow(_steps(entries["commands"], depth + 1), when or Condition())


def _repeat(node: Node, depth: int) -> Command:
    entries = node.fields(("times", "while", "commands", *COMMON), required=("commands",))
    if "times" not in entries and "while" not in entries:
        raise node.fault("repeat needs times, while, or both")
    times = given(entries, "times", lambda found: found.integer(0, TIMES_LIMIT))
    commands = _steps(entries["commands"], depth + 1)
    return Repeat(commands, times, given(entries, "while", condition) or Condition())


def _retry(node: Node, depth: int) -> Command:
    entries = node.fields(("maxRetries", "commands", *COMMON), required=("commands",))
    retries = given(entries, "maxRetries", lambda found: found.integer(0, RETRIES_LIMIT))
    return Retry(_steps(entries["commands"], depth + 1), 1 if retries is None else retries)


NESTING: Mapping[str, Callable[[Node, int], Command]] = {"runFlow": _run_flow, "repeat": _repeat, "retry": _retry}
"""The commands that hold other steps."""

COMMANDS = frozenset((*LEAVES, *NESTING))
"""The commands that are supported, by their names in Maestro."""
