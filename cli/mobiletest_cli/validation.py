"""Problems of flows: found without a server by its own parser, and shown with the line that has them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mobiletest_cli.flows.workspace import InvalidWorkspace, repeated_names
from mobiletest_cli.flows.workspace import Workspace as Flows
from mobiletest_cli.flows.workspace_config import Remark
from mobiletest_cli.workspace import Workspace

Severity = Literal["error", "notice"]
_WIDTH = 100
"""Characters of a line that are shown."""


@dataclass(frozen=True)
class Problem:
    """A remark about a file; line and column count from 1, None if it is about the file as a whole."""

    file: str
    line: int | None
    column: int | None
    message: str
    severity: Severity


def validate(workspace: Workspace) -> list[Problem]:
    """What the server would say about the flows of a folder."""
    texts = {path: text for path in workspace.files if (text := _text(workspace, path)) is not None}
    others = {path: file.read_bytes() for path, file in workspace.files.items() if path not in texts}
    try:
        flows = Flows(texts, others)
        found = [flow for flow in flows.flows() if not workspace.selected or flow.path in workspace.selected]
    except InvalidWorkspace as invalid:
        return [_problem(invalid.remark, "error")]
    names = [(flow.path, flow.name) for flow in found if not flow.problems]
    notices = [*flows.config.notices, *(notice for flow in found for notice in flow.notices), *repeated_names(names)]
    errors = _problems((problem for flow in found for problem in flow.problems), "error")
    return [*errors, *_problems([*notices, *flows.order(names)[1]], "notice")]


def _text(workspace: Workspace, path: str) -> str | None:
    return workspace.text(path) if path.endswith((".yaml", ".yml", ".js")) else None


def _problems(remarks: Iterable[Remark], severity: Severity) -> list[Problem]:
    return list(dict.fromkeys(_problem(remark, severity) for remark in remarks))


def _problem(remark: Remark, severity: Severity) -> Problem:
    return Problem(remark.file, remark.line, remark.column, remark.message, severity)


def render(problem: Problem, text: str | None, path: str) -> str:
    """A problem as compilers write it, with the line of the text and a mark below the column."""
    if problem.line is None:
        return f"{path}: {problem.severity}: {problem.message}"
    column = problem.column or 1
    first = f"{path}:{problem.line}:{column}: {problem.severity}: {problem.message}"
    lines = text.splitlines() if text is not None else []
    if problem.line > len(lines):
        return first
    shown, mark = _excerpt(lines[problem.line - 1], column - 1)
    number = f"{problem.line:>6}"
    return f"{first}\n{number} | {shown}\n{' ' * len(number)} | {' ' * mark}^"


def _excerpt(line: str, position: int) -> tuple[str, int]:
    """A part of a line around a position, and the width of the part before it."""
    start = max(0, position - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = "".join(c if c.isprintable() else " " for c in line[start : start + _WIDTH])
    return shown.rstrip(), sum(_width(c) for c in shown[: position - start])


def _width(character: str) -> int:
    """Columns that a terminal gives a character."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
