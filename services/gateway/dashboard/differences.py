"""The difference of two texts, line by line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

CONTEXT_LINES = 3
# Of each text. The work grows with the cube of it for texts that are made for that, to a tenth of a second.
LINES_LIMIT = 1_000

Kind = Literal["same", "added", "removed", "gap"]


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """A line of either text or of both; a gap stands for equal lines, and its text says which line comes next."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The changed lines with the equal ones around them; `is_too_long` texts are not compared."""

    lines: tuple[DifferenceLine, ...] = ()
    is_too_long: bool = False

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


def compare_texts(before: str, after: str) -> Difference:
    """What has to be removed and added to make one text the other."""
    old, new = _lines(before), _lines(after)
    if max(len(old), len(new)) > LINES_LIMIT:
        return Difference(is_too_long=True)
    return Difference(tuple(_compare(old, new)))


def _lines(text: str) -> Sequence[str]:
    return text.removesuffix("\n").split("\n") if text else ()


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferenceLine]:
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES):
        if group[0][3]:
            yield DifferenceLine("gap", f"line {group[0][3] + 1}")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                yield from (DifferenceLine("same", text) for text in new[new_start:new_end])
                continue
            yield from (DifferenceLine("removed", text) for text in old[old_start:old_end])
            yield from (DifferenceLine("added", text) for text in new[new_start:new_end])
