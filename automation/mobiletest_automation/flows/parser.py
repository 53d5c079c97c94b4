"""Reads the steps of a flow from nodes. Errors have a location and, for unknown words, a suggestion."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from mobiletest_automation.flows.app_commands import APP_COMMANDS
from mobiletest_automation.flows.assertion_commands import ASSERTION_COMMANDS
from mobiletest_automation.flows.capture_commands import CAPTURE_COMMANDS
from mobiletest_automation.flows.commands import CommandSpec
from mobiletest_automation.flows.configuration import is_configuration, read_configuration
from mobiletest_automation.flows.device_commands import DEVICE_COMMANDS
from mobiletest_automation.flows.nodes import DocumentError, Node, Notice, quote, read_optional, suggest
from mobiletest_automation.flows.script_commands import SCRIPT_COMMANDS, with_named_argument
from mobiletest_automation.flows.selectors import is_optional
from mobiletest_automation.flows.steps import (
    BLOCK_COMMANDS,
    STEP_LIMIT,
    Command,
    Flow,
    Repeat,
    Retry,
    RunFlow,
    Sentence,
    Step,
    StepsReader,
)
from mobiletest_automation.flows.text_commands import TEXT_COMMANDS
from mobiletest_automation.flows.touch_commands import TOUCH_COMMANDS
from mobiletest_automation.flows.variables import fill_node, mark_pending

SENTENCE_LIMIT = 500
NESTING_LIMIT = 8


def split_steps(steps: Node) -> tuple[Node | None, Node]:
    """The configuration, if it is the first entry of a list of steps, and the rest of the list.

    Raises:
        DocumentError: for the first problem in the document.
    """
    items = steps.items()
    if items and is_configuration(items[0], COMMANDS):
        return items[0], replace(steps, value=items[1:])
    return None, steps


def read_flow(
    configuration: Node | None, steps: Node, problems: list[DocumentError], notices: list[Notice]
) -> Flow | None:
    """The flow that a configuration and a list of steps make.

    Append the problems, at most one for each step, to `problems`, and return None if there are any.
    """
    flow = Flow(steps=())
    read: list[Step] = []
    if configuration is not None:
        with _collecting(problems):
            flow = read_configuration(configuration, lambda hook: _read_steps(hook, depth=1), notices)
    for item in steps.items():
        with _collecting(problems):
            read.append(_read_step(item, depth=0))
    if problems:
        return None
    if not read:
        problems.append(steps.error("a test needs at least one step"))
        return None
    flow = replace(flow, steps=tuple(read))
    with _collecting(problems):
        _check_step_count(flow)
        return flow
    return None


def fill_step(step: Step, texts: Sequence[str]) -> Step:
    """The step with the texts of its pending scalars; it can be filled again later.

    Raises:
        DocumentError: the command refuses a text.
    """
    node = step.pending
    if node is None:
        return step
    filled = fill_node(node, texts)
    if isinstance(step.command, Sentence):
        return replace(_read_sentence(filled), pending=node)
    read = replace(_read_arguments(step.name, filled, lambda _: ()), pending=node)
    return replace(read, command=_with_steps_of(step.command, read.command))


def _with_steps_of(written: Command, filled: Command) -> Command:
    """A filled command with the steps inside the written one, which are filled when they run."""
    if isinstance(filled, RunFlow) and isinstance(written, RunFlow):
        return replace(filled, commands=written.commands, on_complete=written.on_complete)
    if isinstance(filled, Repeat | Retry) and isinstance(written, Repeat | Retry):
        return replace(filled, commands=written.commands)
    return filled


@contextmanager
def _collecting(problems: list[DocumentError]) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        problems.append(error)


def _check_step_count(flow: Flow) -> None:
    for count, step in enumerate(flow.every_step(), start=1):
        if count > STEP_LIMIT:
            raise DocumentError(step.path, None, None, f"a test may have at most {STEP_LIMIT} steps")


def _read_steps(node: Node, depth: int) -> tuple[Step, ...]:
    if depth > NESTING_LIMIT:
        raise node.error(f"steps may be nested at most {NESTING_LIMIT} deep")
    return tuple(_read_step(item, depth) for item in node.items())


def _read_step(node: Node, depth: int) -> Step:
    if isinstance(node.value, str):
        return _read_sentence_or_bare_command(node, depth)
    if not node.is_mapping:
        raise node.error("a step is a sentence or one command with its arguments")
    entries = node.mapping()
    if is_configuration(node, COMMANDS):
        raise node.error(
            "the flow's configuration (appId, name, tags, env, ...) must be the first entry, before all steps"
        )
    if len(entries) != 1:
        raise _several_entries(node)
    name, arguments = next(iter(entries.items()))
    if name not in COMMANDS:
        raise arguments.error_at_key(_describe_unknown(name))
    read = _read_command(name, arguments, depth)
    if arguments.is_null and arguments.location.line is not None:
        raise arguments.error_at_key(f'nothing follows "{name}:": write {name} without the colon, or give its options')
    return read


def _describe_unknown(name: str) -> str:
    """The message for an unknown command, with the most similar one."""
    if " " in name.strip():
        return f"unknown command {quote(name)}; put a sentence with a colon into quotes"
    return f"unknown command {quote(name)}{suggest(name, COMMANDS) or '; known: ' + ', '.join(sorted(COMMANDS))}"


def _several_entries(node: Node) -> DocumentError:
    """The error about what stands beside the command of a step."""
    entries = node.mapping()
    message = f"a step has one command, not {len(entries)}"
    commands = [name for name in entries if name in COMMANDS]
    if not commands:
        return node.error(message)
    first = commands[0]
    name, other = next((name, other) for name, other in entries.items() if name != first)
    if name not in COMMANDS:
        value = "" if entries[first].is_mapping or entries[first].is_null else ", whose value becomes a field, too"
        return other.error_at_key(f"unexpected field {quote(name)} beside {first}: indent it below {first}:{value}")
    field = f", or belongs below {first}: with more indentation" if entries[first].is_null else ""
    return other.error_at_key(f"{message}: {quote(name)} needs a dash of its own{field}")


def _read_sentence_or_bare_command(node: Node, depth: int) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    text = _SPELLINGS.get(text, text)
    if text in COMMANDS:
        return _read_command(text, Node(None, node.location), depth)
    if _looks_like_a_command(text):
        raise node.error(_describe_unknown(text))
    name, colon, argument = text.partition(":")
    if name in COMMANDS and colon and not argument.startswith(" "):
        raise node.error(f'a blank is missing after "{name}:"')
    if text.partition(" - ")[0] in COMMANDS and " - " in text:
        raise node.error("the next step is indented more than this one: their dashes align")
    sentence, pending = mark_pending(node)
    return replace(_read_sentence(sentence), pending=sentence if pending else None)


def _read_sentence(node: Node) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    if not text:
        raise node.error("the sentence is empty")
    return Step(path=node.location.path, name="sentence", command=Sentence(text), location=node.location)


def _looks_like_a_command(text: str) -> bool:
    """Whether a sentence of one word is in camel case, or similar to the name of a command."""
    if not re.fullmatch(r"[A-Za-z]+", text):
        return False
    return re.search(r"[a-z][A-Z]", text) is not None or (text.islower() and bool(suggest(text, COMMANDS)))


def _read_command(name: str, arguments: Node, depth: int) -> Step:
    node, pending = mark_pending(with_named_argument(name, arguments))
    return replace(
        _read_arguments(name, node, lambda steps: _read_steps(steps, depth + 1)), pending=node if pending else None
    )


def _read_arguments(name: str, node: Node, inside: StepsReader) -> Step:
    spec = COMMANDS[name]
    label, optional = None, spec.optional
    if node.is_mapping:
        label = read_optional(node.mapping(), "label", lambda value: value.string(limit=SENTENCE_LIMIT))
        optional = is_optional(node.mapping()) or (optional and "optional" not in node.mapping())
    command = spec.read(node, inside) if spec.holds_steps else spec.read(node)
    return Step(
        path=node.location.path,
        name=name,
        command=cast("Command", command),
        label=label,
        optional=optional,
        location=node.key_location or node.location,
    )


# Other spellings of commands without arguments.
_SPELLINGS = {"hide keyboard": "hideKeyboard"}

# The commands that are supported, by their names in Maestro, in the order of docs/maestro.md.
COMMANDS: Mapping[str, CommandSpec] = {
    spec.name: spec
    for spec in (
        *APP_COMMANDS,
        *TOUCH_COMMANDS,
        *TEXT_COMMANDS,
        *ASSERTION_COMMANDS,
        *CAPTURE_COMMANDS,
        *SCRIPT_COMMANDS,
        *BLOCK_COMMANDS,
        *DEVICE_COMMANDS,
    )
}
