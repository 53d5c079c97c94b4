"""Which lines of a flow file belong to a step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import yaml

from mobiletest_automation.flows.documents import LOADER

_DASH = re.compile(r"( *)-[ \t]+")
_BLOCK_STYLES = ("|", ">")


@dataclass(frozen=True, slots=True)
class StepLines:
    """The lines of an item of a list, from `first` to `last`, from 1; its dash is in the column `dash`, from 0.

    `comment` is what follows an item in one line, with the blanks before it. `has_comments`: there are comments among
    the lines of a longer one.
    """

    first: int
    last: int
    dash: int
    comment: str = ""
    has_comments: bool = False


def find_step_lines(text: str) -> Mapping[tuple[int, int], StepLines]:
    """The lines of the steps of a YAML text by the line and column where their values begin, from 1.

    Left out are those that share their lines with others, as in [back, back], and those whose dash is in a line above.
    Empty: the text is not YAML.
    """
    try:
        documents = list(yaml.compose_all(text, LOADER))
    except (yaml.YAMLError, RecursionError):
        return {}
    lines = text.splitlines()
    steps = {}
    for items in (items for document in documents for items in _lists(document) if not items.flow_style):
        for item in items.value:
            if step_lines := _step_lines(text, lines, item):
                steps[item.start_mark.line + 1, item.start_mark.column + 1] = step_lines
    return steps


def _lists(node: yaml.Node | None) -> Iterator[yaml.SequenceNode]:
    if isinstance(node, yaml.SequenceNode):
        yield node
        for item in node.value:
            yield from _lists(item)
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _lists(value)


def _step_lines(text: str, lines: Sequence[str], item: yaml.Node) -> StepLines | None:
    start, leaf = item.start_mark, _last_leaf(item)
    written = _DASH.fullmatch(lines[start.line][: start.column])
    last, column = leaf.end_mark.line, leaf.end_mark.column
    if _is_block(leaf):
        last = min(last, len(lines) - 1) if column else last - 1
        while last > start.line and not lines[last].strip():
            last -= 1
        column = len(lines[last])
    behind = lines[last][column:].rstrip()
    if written is None or (behind and not behind.lstrip().startswith("#")):
        return None
    dash = len(written[1])
    if last == start.line:
        return StepLines(start.line + 1, last + 1, dash, behind)
    return StepLines(start.line + 1, last + 1, dash, has_comments=bool(behind) or _has_comments(text, item))


def _last_leaf(node: yaml.Node) -> yaml.Node:
    """The last scalar or flow collection: a block collection ends only where the next token begins."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return node


def _has_comments(text: str, item: yaml.Node) -> bool:
    """Whether something between the scalars, or at the head of a block of text, is a comment."""
    index = item.start_mark.index
    for scalar in _scalars(item):
        begin, end = scalar.start_mark.index, scalar.end_mark.index
        if "#" in text[index:begin] or (_is_block(scalar) and "#" in text[begin:end].splitlines()[0]):
            return True
        index = end
    return False


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(key)
            yield from _scalars(value)


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in _BLOCK_STYLES
