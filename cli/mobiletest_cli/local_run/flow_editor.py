"""Writes steps into flow files: only the lines of a step are changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.flows.workspace_files import decode_text
from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.local_run.step_lines import StepLines, find_step_lines

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class _EditedFile:
    """A file as it is now; how many lines were added, each with the line from which on lines of the first version have
    moved; and the lines of the first version at which replaced steps began.
    """

    path: Path
    text: str
    added: list[tuple[int, int]] = field(default_factory=list)
    replaced: set[int] = field(default_factory=set)

    def line_now(self, line: int) -> int:
        return line + sum(count for first, count in self.added if first <= line)


class FlowEditor:
    """Edits the flow files of a run. Positions are those at its beginning, whatever has been edited since."""

    def __init__(self, read: Callable[[str], str | None], path_of: Callable[[str], str]) -> None:
        """`read` returns a file as the run has read it, and `path_of` where it is, by its path in the workspace."""
        self._read = read
        self._path_of = path_of
        self._files: dict[str, _EditedFile] = {}

    def replace(self, position: SourcePosition, step: str) -> str:
        """Write a step ("- tapOn: Pay") in place of the one at this position. Its file and line.

        Raises:
            CliError: it was not written.
        """
        file, lines = self._find(position)
        written = file.text.splitlines(keepends=True)
        old = written[lines.first - 1 : lines.last]
        comment = _comment(old[0].strip()) if len(old) == 1 else ""
        ending = old[-1][len(old[-1].rstrip("\r\n")) :]
        written[lines.first - 1 : lines.last] = [f"{' ' * lines.dash}{step}{comment}{ending}"]
        _write(file, "".join(written))
        file.added.append((position.line + 1, 1 - len(old)))
        file.replaced.add(position.line)
        return f"{file.path}:{lines.first}"

    def insert(self, position: SourcePosition, step: str) -> str:
        """Write a step before the one at this position. Its file and line.

        Raises:
            CliError: it was not written.
        """
        file, lines = self._find(position)
        written = file.text.splitlines(keepends=True)
        ending = "\r\n" if "\r\n" in file.text else "\n"
        written.insert(lines.first - 1, f"{' ' * lines.dash}{step}{ending}")
        _write(file, "".join(written))
        file.added.append((position.line, 1))
        return f"{file.path}:{lines.first}"

    def _find(self, position: SourcePosition) -> tuple[_EditedFile, StepLines]:
        """The file, and where the step is in it now.

        Raises:
            CliError: it cannot be edited there.
        """
        if position.file not in self._files:
            path = Path(self._path_of(position.file))
            self._files[position.file] = _EditedFile(path, self._read(position.file) or "")
        file = self._files[position.file]
        if decode_text(_read(file.path)) != file.text:
            raise _refusal(file.path, "it has changed since the run began")
        if position.line in file.replaced:
            raise _refusal(file.path, f"the step of line {position.line} has been replaced already")
        lines = find_step_lines(file.text, file.line_now(position.line), position.column)
        if lines is None:
            raise _refusal(file.path, f"the step in line {position.line} shares its line with others")
        return file, lines


def _comment(line: str) -> str:
    """The comment at the end of a step in one line, with the blanks before it; "" for none."""
    for index, character in enumerate(line):
        before = line[:index].rstrip()
        if character == "#" and before != line[:index] and _load(before) == _load(line):
            return line[len(before) :]
    return ""


def _load(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _refusal(path, error.strerror or "it cannot be read") from None


def _write(file: _EditedFile, text: str) -> None:
    mark = _BYTE_ORDER_MARK if _read(file.path).startswith(_BYTE_ORDER_MARK) else b""
    with replacing(file.path) as content:
        content.write(mark + text.encode())
    file.text = text


def _refusal(path: Path, why: str) -> CliError:
    return CliError(f"{path}: the step was not written: {why}", INVALID_FILE)
