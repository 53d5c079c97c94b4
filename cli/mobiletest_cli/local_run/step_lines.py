"""Which lines of a flow file belong to a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from mobiletest_automation.flows.documents import LOADER


@dataclass(frozen=True, slots=True)
class StepLines:
    """The lines of an item of a list, from `first` to `last`, from 1; its dash is in the column `dash`, from 0."""

    first: int
    last: int
    dash: int


def find_step_lines(text: str, line: int, column: int) -> StepLines | None:
    """The lines of the step that is written at this position of a YAML text.

    None: there is no step there, or it shares its lines with others, as in [back, back].
    """
    for lists in map(_lists, yaml.compose_all(text, LOADER)):
        for items in lists:
            for item in items.value:
                if (item.start_mark.line + 1, item.start_mark.column + 1) == (line, column):
                    return None if items.flow_style else _trimmed(text, items.start_mark.column, item)
    return None


def _lists(node: yaml.Node | None) -> Iterator[yaml.SequenceNode]:
    if isinstance(node, yaml.SequenceNode):
        yield node
        for item in node.value:
            yield from _lists(item)
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _lists(value)


def _trimmed(text: str, dash: int, item: yaml.Node) -> StepLines:
    """The lines of an item without what follows it: blank lines, and comments that are not deeper than its dash."""
    lines = text.splitlines()
    last = item.end_mark.line if item.end_mark.column else item.end_mark.line - 1
    last = max(item.start_mark.line, min(last, len(lines) - 1))
    while last > item.start_mark.line and _follows(lines[last], dash):
        last -= 1
    return StepLines(item.start_mark.line + 1, last + 1, dash)


def _follows(line: str, dash: int) -> bool:
    written = line.lstrip()
    return not written or (len(line) - len(written) <= dash)
