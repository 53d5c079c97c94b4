"""Reads the steps of a flow from nodes. Errors have a location and, for unknown words, a suggestion."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from services.flows.command_readers import COMMAND_READERS
from services.flows.configuration import StepsReader, is_configuration, read_configuration, read_env
from services.flows.nodes import DocumentError, Node, quote, read_optional, suggest
from services.flows.selectors import COMMON_FIELDS, is_optional, read_condition
from services.flows.steps import ALWAYS, STEP_LIMIT, BlockCommand, Command, Flow, Repeat, Retry, RunFlow, Sentence, Step
from services.flows.values import ExpressionError
from services.flows.variables import Scope, fill_node, mark_pending, parse_template

SENTENCE_LIMIT = 500
NESTING_LIMIT = 8
TIMES_LIMIT = 1_000
RETRIES_LIMIT = 10

_NO_SCRIPTS = (
    "JavaScript does not run here. Set values under env, compute in ${...} (names, texts, numbers, operators), "
    "and check with assertTrue"
)
_NO_AI = "describe what must be visible in a sentence, or use assertVisible"
_NO_RANDOM = "use inputText with a fixed value or one from env"

UNSUPPORTED: Mapping[str, str] = {
    "evalScript": _NO_SCRIPTS,
    "runScript": _NO_SCRIPTS,
    "assertWithAI": _NO_AI,
    "assertNoDefectsWithAI": _NO_AI,
    "extractTextWithAI": "copyTextFrom copies the text of an element to ${maestro.copiedText}",
    "assertScreenshot": "assertVisible checks texts; takeScreenshot saves an image",
    "inputRandomEmail": _NO_RANDOM,
    "inputRandomNumber": _NO_RANDOM,
    "inputRandomPersonName": _NO_RANDOM,
    "inputRandomText": _NO_RANDOM,
    "inputRandomCityName": _NO_RANDOM,
    "inputRandomCountryName": _NO_RANDOM,
    "inputRandomColorName": _NO_RANDOM,
    "killApp": "use stopApp; a background app cannot be killed as the system would do it",
    "clearKeychain": "use clearState, which deletes what the app has stored",
    "setPermissions": "use permissions of launchApp",
    "setAirplaneMode": "the network of a device cannot be changed",
    "toggleAirplaneMode": "the network of a device cannot be changed",
    "addMedia": "files cannot be added to a device",
    "startRecording": "takeScreenshot saves an image; every failure has one anyway",
    "stopRecording": "takeScreenshot saves an image; every failure has one anyway",
    "travel": "use setLocation for each point",
    "action": "write the command itself: back, hideKeyboard, scroll",
    "dragAndDrop": "use swipe with start and end",
}
"""Unsupported commands by name, with what to use instead."""


def read_flow(configuration: Node | None, steps: Node, problems: list[DocumentError]) -> Flow | None:
    """The flow that a configuration and a list of steps make.

    Append the problems, at most one for each step, to `problems`, and return None if there are any.
    """
    items = steps.items()
    if configuration is None and items and is_configuration(items[0], COMMANDS):
        configuration, items = items[0], items[1:]
    found = len(problems)
    flow = Flow(steps=())
    read: list[Step] = []
    if configuration is not None:
        with _collecting(problems):
            flow = read_configuration(configuration, lambda hook: _read_steps(hook, depth=1))
    for item in items:
        with _collecting(problems):
            read.append(_read_step(item, depth=0))
    if len(problems) > found:
        return None
    if not read:
        problems.append(steps.error("a test needs at least one step"))
        return None
    flow = replace(flow, steps=tuple(read))
    with _collecting(problems):
        _check_step_count(flow)
        return flow
    return None


def fill_step(step: Step, scope: Scope) -> Step:
    """The step with the values that its variables have now; it can be filled again later.

    Raise DocumentError if a variable has no value, or the command refuses the value.
    """
    node = step.pending
    if node is None:
        return step
    if isinstance(step.command, Sentence):
        return replace(_read_sentence(fill_node(node, lambda text: _fill_sentence(text, scope))), pending=node)
    filled = fill_node(node, lambda text: parse_template(text).fill(scope.lookup))
    command = step.command
    inner = command.commands if isinstance(command, BlockCommand) else ()
    return replace(_read_arguments(step.name, filled, lambda _: inner), pending=node)


@contextmanager
def _collecting(problems: list[DocumentError]) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        problems.append(error)


def _check_step_count(flow: Flow) -> None:
    waiting, count = [*flow.on_start, *flow.steps, *flow.on_complete], 0
    while waiting:
        step = waiting.pop()
        count += 1
        if count > STEP_LIMIT:
            raise DocumentError(step.path, None, None, f"a test may have at most {STEP_LIMIT} steps")
        if isinstance(step.command, BlockCommand):
            waiting.extend(step.command.commands)


def _read_steps(node: Node, depth: int) -> tuple[Step, ...]:
    if depth > NESTING_LIMIT:
        raise node.error(f"steps may be nested at most {NESTING_LIMIT} deep")
    if not node.items():
        raise node.error("there are no commands")
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
        raise node.error(f"a step has one command, not {len(entries)}" + _dash_hint(entries))
    name, arguments = next(iter(entries.items()))
    if name not in COMMANDS:
        raise arguments.error_at_key(_describe_unknown(name))
    return _read_command(name, arguments, depth)


def _describe_unknown(name: str) -> str:
    """The message for a command that is unsupported or unknown, with the most similar one."""
    if name in UNSUPPORTED:
        return f"{name} is not supported: {UNSUPPORTED[name]}"
    if " " in name.strip():
        return f"unknown command {quote(name)}; put a sentence with a colon into quotes"
    return f"unknown command {quote(name)}{suggest(name, COMMANDS) or '; known: ' + ', '.join(sorted(COMMANDS))}"


def _dash_hint(entries: Mapping[str, Node]) -> str:
    names = [name for name in entries if name in COMMANDS]
    return "; begin each with its own dash" if len(names) > 1 else ""


def _read_sentence_or_bare_command(node: Node, depth: int) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    if text in COMMANDS:
        return _read_command(text, Node(None, node.location), depth)
    if text in UNSUPPORTED or _looks_like_a_command(text):
        raise node.error(_describe_unknown(text))
    sentence, pending = mark_pending(node)
    return replace(_read_sentence(sentence), pending=sentence if pending else None)


def _read_sentence(node: Node) -> Step:
    text = node.string(limit=SENTENCE_LIMIT).strip()
    if not text:
        raise node.error("the sentence is empty")
    return Step(path=node.location.path, name="sentence", command=Sentence(text))


def _fill_sentence(text: str, scope: Scope) -> str:
    """A sentence with its variables filled in. No value may have a quote, which would end the quoted text around it."""

    def lookup(name: str) -> object:
        value = scope.lookup(name)
        if isinstance(value, str) and '"' in value:
            raise ExpressionError(f"the value of {name} contains a quote: use a command instead of a sentence")
        return value

    return parse_template(text).fill(lookup)  # type: ignore[arg-type]


def _looks_like_a_command(text: str) -> bool:
    """Whether a sentence of one word is in camel case, or similar to the name of a command."""
    if not re.fullmatch(r"[A-Za-z]+", text):
        return False
    return re.search(r"[a-z][A-Z]", text) is not None or (text.islower() and bool(suggest(text, COMMANDS)))


def _read_command(name: str, arguments: Node, depth: int) -> Step:
    node, pending = mark_pending(arguments)
    return replace(
        _read_arguments(name, node, lambda steps: _read_steps(steps, depth + 1)), pending=node if pending else None
    )


def _read_arguments(name: str, node: Node, inside: StepsReader) -> Step:
    label, optional = None, False
    if node.is_mapping:
        label = read_optional(node.mapping(), "label", lambda value: value.string(limit=SENTENCE_LIMIT))
        optional = is_optional(node.mapping())
    command = BLOCK_READERS[name](node, inside) if name in BLOCK_READERS else COMMAND_READERS[name](node)
    return Step(path=node.location.path, name=name, command=cast("Command", command), label=label, optional=optional)


def _read_run_flow(node: Node, inside: StepsReader) -> Command:
    if not node.is_mapping or "file" in node.mapping():
        raise node.error(f"runFlow with a file is {_INLINE}")
    entries = node.fields(("commands", "when", "env", *COMMON_FIELDS), required=("commands",))
    when = read_optional(entries, "when", read_condition)
    return RunFlow(inside(entries["commands"]), when or ALWAYS, read_optional(entries, "env", read_env) or ())


def _read_repeat(node: Node, inside: StepsReader) -> Command:
    entries = node.fields(("times", "while", "commands", *COMMON_FIELDS), required=("commands",))
    if "times" not in entries and "while" not in entries:
        raise node.error("repeat needs times, while, or both")
    times = read_optional(entries, "times", lambda value: value.integer(0, TIMES_LIMIT))
    return Repeat(inside(entries["commands"]), times, read_optional(entries, "while", read_condition) or ALWAYS)


def _read_retry(node: Node, inside: StepsReader) -> Command:
    if node.is_mapping and "file" in node.mapping():
        raise node.mapping()["file"].error_at_key(f"retry with a file is {_INLINE}")
    entries = node.fields(("maxRetries", "commands", *COMMON_FIELDS), required=("commands",))
    retries = read_optional(entries, "maxRetries", lambda value: value.integer(0, RETRIES_LIMIT))
    return Retry(inside(entries["commands"]), 1 if retries is None else retries)


_INLINE = "not supported in steps: list its commands under commands, or send flow and flow_files"

BLOCK_READERS: Mapping[str, Callable[[Node, StepsReader], Command]] = {
    "runFlow": _read_run_flow,
    "repeat": _read_repeat,
    "retry": _read_retry,
}
"""The commands that hold other steps."""

COMMANDS = frozenset((*COMMAND_READERS, *BLOCK_READERS))
"""The commands that are supported, by their names in Maestro."""
