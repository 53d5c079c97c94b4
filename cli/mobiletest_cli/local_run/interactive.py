"""A person at the terminal, who tries steps where a flow fails, and writes what works into its file."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from mobiletest_automation.flows.documents import read_yaml
from mobiletest_automation.flows.nodes import DocumentError
from mobiletest_automation.steps.human_help import FAIL, RETRY, SKIP
from mobiletest_automation.steps.interactive_help import KEEP, LOOK
from mobiletest_cli.errors import USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_automation.ports import HumanQuestion
    from mobiletest_cli.local_run.flow_editor import FlowEditor
    from mobiletest_cli.local_run.results import EvidenceFolder
    from mobiletest_cli.output import Output

ReadLine = Callable[[], Awaitable[str | None]]

_SHOWN = 30
_HELP = (
    'Try a sentence or a command, such as tap "Log in" or tapOn: Log in. Or: retry the step, skip it, quit. '
    "Enter shows the screen again."
)
_WORKED = "It worked. Write it into the file: replace the step by it, or insert it before the step; or go on without."
_ONLY_WORKED = "It worked, but is no step that can be written into the file: go on without, or try another step."
_AFTER_WORK = ("replace", "insert", "go on")
_WORDS = {"": LOOK, "retry": RETRY, "skip": SKIP, "quit": FAIL}


class TerminalHuman:
    """The port Human at a terminal."""

    def __init__(self, output: Output, editor: FlowEditor, evidence: EvidenceFolder, read_line: ReadLine) -> None:
        """`read_line` returns what the person types, and None when there is no more."""
        self._output = output
        self._editor = editor
        self._evidence = evidence
        self._read_line = read_line

    async def ask(self, question: HumanQuestion) -> str | None:
        """What to do, as the person says, after the file was changed as it says."""
        self._show(question)
        while True:
            self._output.prompt(">")
            line = await self._read_line()
            if line is None:
                return FAIL
            typed = line.strip()
            if typed in _WORDS:
                return _WORDS[typed]
            if typed in _AFTER_WORK:
                if not question.worked:
                    self._output.error_line(f'"{typed}" is for a step that has just worked: try one first')
                elif typed == "go on":
                    return KEEP
                elif self._was_written(question, typed):
                    return KEEP if typed == "replace" else RETRY
            else:
                return typed if typed in question.options else as_yaml(typed)

    def _show(self, question: HumanQuestion) -> None:
        say = self._output.say
        say("")
        if question.worked:
            say(f"  {question.worked}")
        else:
            for line in question.text.splitlines():
                say(line)
        shown = [*question.screen[:_SHOWN], *(["..."] if len(question.screen) > _SHOWN else [])]
        say("On the screen:" if shown else "On the screen is nothing with a name.")
        for element in shown:
            say(f"  {element}")
        if picture := self._evidence.path_of(question.screenshot):
            say(f"  {picture}")
        for option in question.options:
            if option not in _WORDS.values():
                say(f"  > {option}")
        if question.worked:
            say(_WORKED if question.can_write else _ONLY_WORKED)
        else:
            say(_HELP)

    def _was_written(self, question: HumanQuestion, how: str) -> bool:
        """Whether the file has the step that worked; why not is said."""
        position = question.position
        try:
            if not question.can_write:
                raise CliError("the step was not written: it is a choice, or has a secret that is no variable", USAGE)
            if position is None:
                raise CliError("the step was not written: where the failed step is written is not known", USAGE)
            write = self._editor.replace if how == "replace" else self._editor.insert
            place = write(position, question.worked)
        except CliError as error:
            self._output.error_line(error.message)
            return False
        self._output.say(f'Wrote "{question.worked}" to {place}.')
        return True


def as_yaml(typed: str) -> str:
    """The line of a flow for a sentence or a command as a person types it: "- tapOn: Pay"."""
    text = typed.removeprefix("- ").strip()
    try:
        value = read_yaml(f"- {text}", "step").value
    except DocumentError:
        value = None
    item = value[0].value if isinstance(value, tuple) and len(value) == 1 else None
    is_step = isinstance(item, Mapping) or item == text or (isinstance(item, str) and text[:1] in ("'", '"'))
    return f"- {text if is_step else json.dumps(text, ensure_ascii=False)}"


def check_terminal(output: Output) -> None:
    """Check that a person can be asked.

    Raises:
        CliError: nobody can be.
    """
    if not (output.shows_progress and sys.stdin.isatty()):
        hint = "Run it at a terminal, without --json and --quiet"
        raise CliError("--interactive asks at a terminal, and there is none", USAGE, hint)


async def read_line() -> str | None:
    """A line of the terminal; None at its end. It can be cancelled, other than a thread that reads."""
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    typed: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if typed.done():
            return
        try:
            typed.set_result(os.read(descriptor, 65536))
        except OSError:  # the terminal is gone
            typed.set_result(b"")

    loop.add_reader(descriptor, read)
    try:
        return (await typed).decode(errors="replace") or None
    finally:
        loop.remove_reader(descriptor)
