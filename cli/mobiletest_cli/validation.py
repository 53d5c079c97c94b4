"""Checks a folder of flows without a server, with the server's own parser, and shows what is wrong where."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mobiletest_automation.flows.printable import visible
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_cli.workspace import Workspace

ERROR, WARNING, NOTICE = "error", "warning", "notice"
EXCERPT_CHARACTERS = 100
_TAB = "    "
_YAML_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


@dataclass(frozen=True)
class Problem:
    """What is to be said about a file of a workspace; line and column count from 1, None for the file as a whole."""

    file: str
    line: int | None
    column: int | None
    message: str
    severity: str = ERROR


def validate(workspace: Workspace) -> list[Problem]:
    """What the import of the folder would refuse or notice, errors first; of the selected flows if some are.

    Raises:
        CliError: a picture or video cannot be read.
    """
    found_workspace = workspace.find_flows()
    if found_workspace is None:
        return [_problem(workspace.invalid.remark, ERROR)] if workspace.invalid is not None else []
    errors = [_problem(problem, ERROR) for flow in found_workspace.flows for problem in flow.problems]
    notices = [_problem(remark, NOTICE) for remark in found_workspace.notices]
    left_out = {} if workspace.selected else workspace.left_out
    missed = [Problem(path, None, None, f"left out: {why}", NOTICE) for path, why in left_out.items()]
    return list(dict.fromkeys([*errors, *notices, *missed]))


def warn_of_sentences(workspace: Workspace) -> list[Problem]:
    """The sentences that no rule parses: runs fail at them without a model."""
    return [_problem(remark, WARNING) for remark in workspace.find_unparsed()]


def _problem(remark: Remark, severity: str) -> Problem:
    return Problem(remark.file, remark.line, remark.column, remark.message, severity)


def render(problem: Problem, source_text: str | None, display_path: str | None = None) -> list[str]:
    """The lines of the problem as compilers write it, with that of the file and a mark under the column."""
    place = ":".join(str(part) for part in (problem.line, problem.column) if part is not None)
    path = _printable(display_path or problem.file)
    head = f"{path}:{place}: " if place else f"{path}: "
    lines = [f"{head}{problem.severity}: {_printable(problem.message)}"]
    source = _YAML_BREAK.split(source_text or "")
    if problem.line is not None and source_text and problem.line <= len(source):
        excerpt, before = _excerpt(source[problem.line - 1], problem.column or 1)
        lines += [f"{problem.line:>5} | {excerpt}".rstrip(), f"{'':>5} | {' ' * before}^"]
    return lines


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """The part of a line around the column, and how many cells of the terminal are before the column in it."""
    from rich.cells import cell_len

    at = min(column - 1, len(line))
    start = max(0, min(at - EXCERPT_CHARACTERS // 2, len(line) - EXCERPT_CHARACTERS))
    end = start + EXCERPT_CHARACTERS
    before = ("…" if start else "") + _printable(line[start:at])
    after = _printable(line[at:end]) + ("…" if end < len(line) else "")
    return before + after, cell_len(before)


def _printable(text: str) -> str:
    """The text as it is printed, in one line, so that a mark is under its column."""
    return visible(text.replace("\t", _TAB)).replace("\n", "\N{REPLACEMENT CHARACTER}")
