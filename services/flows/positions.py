"""Where the steps of a flow are in its files: a text that is stored beside the steps, and read when they run."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .nodes import Location
from .steps import Flow, Step
from .variables import pending_scalars

POSITIONS_LENGTH = 256 * 1024
"""Of the text for one flow. Of a longer one only the steps are kept, and none if these are too many, too."""


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
    """Where the steps of a flow begin, and where their texts with variables are, by the paths of both in the flow."""

    steps: Mapping[str, SourcePosition] = field(default_factory=dict)
    texts: Mapping[str, SourcePosition] = field(default_factory=dict)


UNKNOWN_SOURCE = FlowSource()


@dataclass(slots=True)
class _Files:
    """The numbers of the files, in the order in which they occur."""

    numbers: dict[str, int] = field(default_factory=dict)

    def triple(self, place: Location) -> Iterator[int]:
        """File, line and column."""
        yield self.numbers.setdefault(place.file, len(self.numbers))
        yield from (place.line or 0, place.column or 0)


def write_positions(flow: Flow) -> str:
    """The positions of all steps as JSON: the files, and numbers of each step; "" if they are not known, or too long.

    The steps are those of `every_step`, in its order: the same that a flow has whose stored steps are read again.
    """
    steps = list(flow.every_step())
    if not all(step.location is not None and step.location.file and step.location.line for step in steps):
        return ""
    long, short = _write(steps, texts=True), _write(steps, texts=False)
    return next((text for text in (long, short) if len(text) <= POSITIONS_LENGTH), "")


def _write(steps: Iterable[Step], *, texts: bool) -> str:
    files = _Files()
    numbers = [[number for place in _places(step, texts=texts) for number in files.triple(place)] for step in steps]
    return json.dumps([list(files.numbers), numbers], ensure_ascii=False, separators=(",", ":"))


def _places(step: Step, *, texts: bool) -> Iterator[Location]:
    if step.location is not None:
        yield step.location
    if texts and step.pending is not None:
        yield from (scalar.location for scalar in pending_scalars(step.pending))


def read_positions(text: str, flow: Flow) -> FlowSource:
    """The source of a flow whose stored steps were read; UNKNOWN_SOURCE if it has none, or has that of another flow."""
    files, rows = json.loads(text) if text else ([], [])
    steps = list(flow.every_step())
    if not rows or len(steps) != len(rows):
        return UNKNOWN_SOURCE
    begins: dict[str, SourcePosition] = {}
    texts: dict[str, SourcePosition] = {}
    for step, row in zip(steps, rows, strict=True):
        triples = zip(row[::3], row[1::3], row[2::3], strict=True)
        begins[step.path], *others = (SourcePosition(files[file], line, column) for file, line, column in triples)
        if others and step.pending is not None:
            paths = (scalar.location.path for scalar in pending_scalars(step.pending))
            texts |= dict(zip(paths, others, strict=True))
    return FlowSource(begins, texts)


def run_from(position: SourcePosition | None, around: Iterable[SourcePosition | None]) -> tuple[SourcePosition, ...]:
    """Where the file of a position is run from, innermost first.

    `around` are the positions of the steps that hold the step, innermost first.
    """
    found: list[SourcePosition] = []
    file = position.file if position is not None else None
    for each in around:
        if each is None or file is None:
            break
        if each.file != file:
            found.append(each)
            file = each.file
    return tuple(found)
