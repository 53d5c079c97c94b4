"""The part of a flow that --from and --until choose."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.positions import SourcePosition, read_positions
from mobiletest_automation.flows.selectors import ALWAYS
from mobiletest_automation.flows.steps import Flow, Repeat, Retry, RunFlow, Step, walk
from mobiletest_cli.errors import USAGE, CliError
from mobiletest_cli.local_run.runner import PlannedFlow
from mobiletest_cli.local_run.step_lines import StepLines, find_step_lines
from mobiletest_cli.workspace import Workspace

_LINE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,9})(:\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _OwnStep:
    """A step of the flow itself. `first` and `last` are the numbers of itself and of the last step inside it, from 1.

    `varies`: how many steps run inside it depends on the run. `position` and `inner` are where it and those inside it
    are written.
    """

    step: Step
    first: int
    last: int
    varies: bool
    position: SourcePosition | None
    inner: Sequence[SourcePosition]

    @property
    def text(self) -> str:
        return f"step {self.first} ({self.step.title})"


def select_steps(flow: PlannedFlow, files: Workspace, start: str | None, end: str | None) -> PlannedFlow:
    """The flow with the steps from `start` to `end`, both included: a number, or a file and line; None leaves it open.

    Raises:
        CliError: there is no such step, or it is inside another one.
    """
    parsed = parse_flow(json.loads(flow.steps))
    steps = list(_own_steps(parsed, flow.positions))
    first = _Finder(flow.path, files, steps, "--from").find(start) if start else 0
    last = _Finder(flow.path, files, steps, "--until").find(end) if end else len(steps) - 1
    if last < first:
        raise CliError(f"--until {end} is before --from {start}", USAGE)
    left_out = frozenset(each.step.path for each in (*steps[:first], *steps[last + 1 :]))
    if not left_out:
        return flow
    begin, until = steps[first].first, steps[last].last
    numbers = f"step {begin}" if begin == until else f"steps {begin} to {until}"
    part = f"{numbers} of {steps[-1].last}"
    properties = (*flow.properties, ("part", part))
    return replace(flow, left_out=left_out, begins_later=first > 0, part=part, properties=properties)


def _own_steps(flow: Flow, positions: str) -> Iterator[_OwnStep]:
    source, number = read_positions(positions, flow), 1
    for step in flow.own_steps:
        inside = list(walk(step.inner_steps))
        inner = [source.steps[each.path] for each in inside if each.path in source.steps]
        last = number + len(inside)
        varies = any(map(_varies, (step, *inside)))
        yield _OwnStep(step, number, last, varies, source.steps.get(step.path), inner)
        number = last + 1


def _varies(step: Step) -> bool:
    match step.command:
        case RunFlow(when=condition):
            return step.optional or condition != ALWAYS
        case Repeat() | Retry():
            return True
    return False


class _Finder:
    """Finds the step that an option names."""

    def __init__(self, path: str, files: Workspace, steps: Sequence[_OwnStep], option: str) -> None:
        self._path = path
        self._files = files
        self._steps = steps
        self._option = option
        self._lines: dict[str, Mapping[tuple[int, int], StepLines]] = {}

    def find(self, name: str) -> int:
        """The index of the step among those of the flow itself. CliError."""
        if name.isascii() and name.isdecimal():
            return self._by_number(name)
        if written := _LINE.fullmatch(name):
            return self._by_line(name, written["file"], int(written["line"]))
        raise CliError(f'{self._option} "{name}" is not a step', USAGE, "Such as 3, or flow.yaml:12")

    def _by_number(self, name: str) -> int:
        number = int(name) if len(name) < 10 else 10**9
        for index, step in enumerate(self._steps):
            if step.first == number:
                return index
            if step.varies and number > step.first:
                message = f"{self._option} {name}: how many steps run before it depends on {step.text}"
                raise CliError(message, USAGE, f"Name its file and line: {self._option} {self._example(index)}")
            if step.first < number <= step.last:
                raise self._inside(name, index)
        count = self._steps[-1].last
        raise self._no_step(name, f"the flow has {count} step{'' if count == 1 else 's'}")

    def _by_line(self, name: str, file: str, line: int) -> int:
        of_steps = {step.position.file for step in self._steps if step.position}
        files = of_steps | {position.file for step in self._steps for position in step.inner}
        paths = {path for path in files if self._is_at(file, path)} or {
            path for path in files if self._ends_with(file, path)
        }
        if not paths:
            raise self._no_step(name, f"the steps of the flow are in {self._files.display_path(self._path)}")
        for index, step in enumerate(self._steps):
            if step.position is not None and step.position.file in paths and self._has_line(step.position, line):
                return index
        for index, step in enumerate(self._steps):
            inner = (position for position in step.inner if position.file in paths - {self._path})
            if any(self._has_line(position, line) for position in inner):
                raise self._inside(name, index)
        lines = [step.position.line for step in self._steps if step.position and step.position.file in paths]
        raise self._no_step(name, f"its steps begin at line {', '.join(map(str, lines))}" if lines else "")

    def _is_at(self, file: str, path: str) -> bool:
        return os.path.abspath(file) == os.path.abspath(self._files.display_path(path))

    def _ends_with(self, file: str, path: str) -> bool:
        parts, shown = PurePath(file).parts, PurePath(self._files.display_path(path)).parts
        return shown[-len(parts) :] == parts

    def _has_line(self, position: SourcePosition, line: int) -> bool:
        if position.file not in self._lines:
            self._lines[position.file] = find_step_lines(self._files.text(position.file) or "")
        lines = self._lines[position.file].get((position.line, position.column))
        return lines.first <= line <= lines.last if lines is not None else line == position.line

    def _inside(self, name: str, index: int) -> CliError:
        outer, hint = self._steps[index], f"Choose {self._option} {self._steps[index].first}"
        if index + 1 < len(self._steps) and not outer.varies:
            hint = f"{hint} or {self._steps[index + 1].first}"
        return CliError(f"{self._option} {name} is inside {outer.text}, which runs as a whole", USAGE, hint)

    def _no_step(self, name: str, why: str) -> CliError:
        return CliError(f"there is no step {name}{why and f': {why}'}", USAGE, "mobiletest run --help")

    def _example(self, index: int) -> str:
        position = next((step.position for step in self._steps[index + 1 :] if step.position), None)
        return f"{self._files.display_path(position.file)}:{position.line}" if position else "flow.yaml:12"
