"""Where the steps of a flow are in its files: a text that is stored beside the steps, and read when they run."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from mobiletest_automation.flows.nodes import Location
from mobiletest_automation.flows.steps import Flow, Step
from mobiletest_automation.flows.variables import pending_scalars

# Of the text for one flow. Of a longer one only the steps are kept, and none if these are too many, too.
POSITIONS_LENGTH = 256 * 1024


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A place in a file: its path from the root of the workspace, and line and column from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class FlowSource:
    """Where the steps of a flow begin, where their texts with variables are, and the variables of its header.

    The keys are paths in the flow; those of the header are "env.NAME".
    """

    steps: Mapping[str, SourcePosition] = field(default_factory=dict)
    texts: Mapping[str, SourcePosition] = field(default_factory=dict)
    variables: Mapping[str, SourcePosition] = field(default_factory=dict)

    def locate(self, path: str, text: str = "") -> tuple[SourcePosition | None, tuple[SourcePosition, ...]]:
        """Where a step or a variable of the header is written, and the steps that run its file, innermost first.

        If a `text` of the step is known and in the same file, it is that position.
        """
        position = self.steps.get(path) or self.variables.get(path)
        inner = self.texts.get(text)
        if position is None or inner is None or inner.file != position.file:
            inner = position
        return inner, tuple(self._run_from(path, position)) if position is not None else ()

    def _run_from(self, path: str, position: SourcePosition) -> Iterator[SourcePosition]:
        file = position.file
        for outer in sorted((outer for outer in self.steps if path.startswith(f"{outer}.")), key=len, reverse=True):
            if self.steps[outer].file != file:
                file = self.steps[outer].file
                yield self.steps[outer]


def digest_positions(positions: str) -> str | None:
    """What tells the positions of one import from those of another; None if they are not known."""
    return sha256(positions.encode()).hexdigest()[:16] if positions else None


UNKNOWN_SOURCE = FlowSource()


@dataclass(slots=True)
class _Files:
    """The numbers of the files, in the order in which they occur."""

    numbers: dict[str, int] = field(default_factory=dict)

    def row(self, locations: Iterable[Location]) -> list[int]:
        """File, line and column of each location, one after the other."""
        return [
            number
            for location in locations
            for number in (
                self.numbers.setdefault(location.file, len(self.numbers)),
                location.line or 0,
                location.column or 0,
            )
        ]


def write_positions(flow: Flow) -> str:
    """The positions of a flow as JSON, "" if they are not known, or too long: files, numbers of each step, variables.

    The steps are those of `every_step`, in its order: the same that a flow has whose stored steps are read again.
    """
    if not all(step.location is not None and step.location.line for step in flow.every_step()):
        return ""
    long, short = _write(flow, texts=True), _write(flow, texts=False)
    return next((text for text in (long, short) if len(text) <= POSITIONS_LENGTH), "")


def _write(flow: Flow, *, texts: bool) -> str:
    files = _Files()
    steps = [files.row(_places(step, texts=texts)) for step in flow.every_step()]
    rows = (steps, files.row(flow.env_locations if texts else ()))
    return json.dumps([list(files.numbers), *rows], ensure_ascii=False, separators=(",", ":"))


def _places(step: Step, *, texts: bool) -> Iterator[Location]:
    if step.location is not None:
        yield step.location
    if texts and step.pending is not None:
        yield from (scalar.location for scalar in pending_scalars(step.pending))


def read_positions(text: str, flow: Flow) -> FlowSource:
    """The source of a flow whose stored steps were read; UNKNOWN_SOURCE if it has none, or has that of another flow."""
    files, rows, variables = json.loads(text) if text else ([], [], [])
    steps = list(flow.every_step())
    if not rows or len(steps) != len(rows):
        return UNKNOWN_SOURCE
    begins: dict[str, SourcePosition] = {}
    texts: dict[str, SourcePosition] = {}
    for step, row in zip(steps, rows, strict=True):
        begins[step.path], *others = _positions(files, row)
        if others and step.pending is not None:
            paths = (scalar.location.path for scalar in pending_scalars(step.pending))
            texts |= dict(zip(paths, others, strict=True))
    names = (f"env.{name}" for name, _ in flow.env)
    return FlowSource(begins, texts, dict(zip(names, _positions(files, variables), strict=False)))


def _positions(files: Sequence[str], row: Sequence[int]) -> list[SourcePosition]:
    triples = zip(row[::3], row[1::3], row[2::3], strict=True)
    return [SourcePosition(files[file], line, column) for file, line, column in triples]
