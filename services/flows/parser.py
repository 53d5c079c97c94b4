"""Steps from JSON values or YAML text: read, checked, and refused with the place and the nearest known word."""

import re
from collections.abc import Callable, Mapping

from services.flows.commands import (
    AssertNotVisible,
    AssertVisible,
    Back,
    Command,
    Condition,
    EraseText,
    ExtendedWaitUntil,
    InputText,
    LaunchApp,
    Repeat,
    Retry,
    RunFlow,
    Scroll,
    Sentence,
    Step,
    StopApp,
    Swipe,
    TakeScreenshot,
    TapOn,
)
from services.flows.documents import Bounds, read_json, read_yaml
from services.flows.errors import StepError
from services.flows.nodes import DocumentError, Node, given, nearest, shown
from services.flows.reading import app_id, condition, direction, position, selector, without_variables

STEP_LIMIT = 1_000
"""How many steps a test may have, those inside other steps included."""

SENTENCE_LIMIT = 500
NESTING_LIMIT = 8
TIMES_LIMIT = 1_000
RETRIES_LIMIT = 10
WAIT_LIMIT_SECONDS = 1_800
BOUNDS = Bounds()

COMMON = ("label", "optional")
Reader = Callable[[Node], Command]


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


def _launch_app(node: Node) -> Command:
    if node.is_null:
        return LaunchApp()
    if not node.is_mapping:
        return LaunchApp(app_id(node))
    entries = node.fields(("appId", "clearState", "stopApp", *COMMON))
    stop_app = given(entries, "stopApp", Node.boolean)
    return LaunchApp(
        app_id=given(entries, "appId", app_id),
        clear_state=given(entries, "clearState", Node.boolean) or False,
        stop_app=stop_app is not False,
    )


def _stop_app(node: Node) -> Command:
    if node.is_null:
        return StopApp()
    if not node.is_mapping:
        return StopApp(app_id(node))
    return StopApp(given(node.fields(("appId", *COMMON)), "appId", app_id))


def _input_text(node: Node) -> Command:
    written = node.fields(("text", *COMMON), required=("text",))["text"] if node.is_mapping else node
    return InputText(without_variables(written))


def _erase_text(node: Node) -> Command:
    if node.is_null:
        return EraseText()
    if not node.is_mapping:
        return EraseText(node.integer(1, 10_000))
    entries = node.fields(("charactersToErase", *COMMON))
    return EraseText(entries["charactersToErase"].integer(1, 10_000)) if "charactersToErase" in entries else EraseText()


def _bare(command: Command) -> Reader:
    def read(node: Node) -> Command:
        if not node.is_null:
            node.fields(COMMON)
        return command

    return read


def _swipe(node: Node) -> Command:
    entries = node.fields(("direction", "start", "end", "from", "duration", *COMMON))
    seconds = entries["duration"].number(1, 60_000) / 1000 if "duration" in entries else 0.4
    if "start" in entries or "end" in entries:
        if "direction" in entries or "from" in entries:
            raise node.fault("swipe has either start and end, or direction with an optional from")
        both = node.fields(("start", "end", "duration", *COMMON), required=("start", "end"))
        return Swipe(start=position(both["start"]), end=position(both["end"]), seconds=seconds)
    if "direction" not in entries:
        raise node.fault("swipe needs a direction (up, down, left, right), or start and end")
    source = given(entries, "from", selector)
    return Swipe(direction=direction(entries["direction"]), source=source, seconds=seconds)


def _extended_wait_until(node: Node) -> Command:
    entries = node.fields(("visible", "notVisible", "timeout", *COMMON))
    if "visible" not in entries and "notVisible" not in entries:
        raise node.fault("extendedWaitUntil needs visible or notVisible")
    return ExtendedWaitUntil(
        visible=given(entries, "visible", selector),
        not_visible=given(entries, "notVisible", selector),
        timeout_seconds=given(entries, "timeout", lambda found: found.number(0, WAIT_LIMIT_SECONDS * 1000) / 1000),
    )


def _take_screenshot(node: Node) -> Command:
    if node.is_null:
        return TakeScreenshot()
    if not node.is_mapping:
        return TakeScreenshot(node.string(limit=200))
    return TakeScreenshot(given(node.fields(("path", *COMMON)), "path", lambda found: found.string(limit=200)))


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


def _selecting(command: Callable[..., Command]) -> Reader:
    def read(node: Node) -> Command:
        return command(selector(node, also=COMMON))

    return read


NESTING: Mapping[str, Callable[[Node, int], Command]] = {"runFlow": _run_flow, "repeat": _repeat, "retry": _retry}
"""The commands that hold other steps."""

LEAVES: Mapping[str, Reader] = {
    "launchApp": _launch_app,
    "stopApp": _stop_app,
    "tapOn": _selecting(TapOn),
    "inputText": _input_text,
    "eraseText": _erase_text,
    "back": _bare(Back()),
    "swipe": _swipe,
    "scroll": _bare(Scroll()),
    "assertVisible": _selecting(AssertVisible),
    "assertNotVisible": _selecting(AssertNotVisible),
    "extendedWaitUntil": _extended_wait_until,
    "takeScreenshot": _take_screenshot,
}

COMMANDS = frozenset((*LEAVES, *NESTING))
"""The commands that are supported, by their names in Maestro."""
