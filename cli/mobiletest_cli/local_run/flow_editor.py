"""Writes steps into flow files: only the lines of a step are changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mobiletest_automation.flows.documents import read_documents, read_yaml
from mobiletest_automation.flows.nodes import DocumentError, Node
from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.flows.workspace_files import decode_text
from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.local_run.step_lines import StepLines, find_step_lines

# A flow has a header and a list of steps.
_DOCUMENTS = 2
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class _EditedFile:
    """A file as it is now; how many lines were added, each with the line from which on lines of the first version have
    moved; the lines of the first version that replaced steps had; and the steps that were inserted, with the
    lines of the first version before which they are.
    """

    path: Path
    text: str
    added: list[tuple[int, int]] = field(default_factory=list)
    replaced: set[int] = field(default_factory=set)
    inserted: set[tuple[int, str]] = field(default_factory=set)

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
        if lines.has_comments:
            raise _refusal(file.path, f"the step in line {position.line} has comments inside, which would be lost")
        written = file.text.splitlines(keepends=True)
        old = written[lines.first - 1 : lines.last]
        ending = old[-1][len(old[-1].rstrip("\r\n")) :]
        written[lines.first - 1 : lines.last] = [f"{' ' * lines.dash}{step}{lines.comment}{ending}"]
        _check_steps(file, position, step, "".join(written), replaces=True)
        _write(file, "".join(written))
        inside = range(position.line, position.line + len(old))
        file.replaced |= {line for line in inside if file.line_now(line) <= lines.last}
        file.added.append((position.line + 1, 1 - len(old)))
        return f"{file.path}:{lines.first}"

    def insert(self, position: SourcePosition, step: str) -> str:
        """Write a step before the one at this position. Its file and line.

        Raises:
            CliError: it was not written.
        """
        file, lines = self._find(position)
        if (position.line, step) in file.inserted:
            raise _refusal(file.path, f"it was inserted before the step of line {position.line} already")
        written = file.text.splitlines(keepends=True)
        ending = "\r\n" if "\r\n" in file.text else "\n"
        written.insert(lines.first - 1, f"{' ' * lines.dash}{step}{ending}")
        _check_steps(file, position, step, "".join(written), replaces=False)
        _write(file, "".join(written))
        file.added.append((position.line, 1))
        file.inserted.add((position.line, step))
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
        lines = find_step_lines(file.text).get((file.line_now(position.line), position.column))
        if lines is None:
            message = f"the step in line {position.line} shares its line with others, or its dash is in another line"
            raise _refusal(file.path, message)
        return file, lines


def _check_steps(file: _EditedFile, position: SourcePosition, step: str, text: str, *, replaces: bool) -> None:
    """Check that the text has what the file has, but this step in place of the one at the position, or before it.

    Raises:
        CliError: it has not, or one of them is not a step.
    """
    try:
        items = read_yaml(step, "step").value
        if not isinstance(items, tuple) or len(items) != 1 or step.splitlines() != [step]:
            raise _refusal(file.path, f"{step} is not an item of a list in one line")
        at = (file.line_now(position.line), position.column)
        before = read_documents(file.text, file.path.name, limit=_DOCUMENTS)
        after = read_documents(text, file.path.name, limit=_DOCUMENTS)
    except DocumentError as error:
        raise _refusal(file.path, str(error)) from None
    expected = [_values(node, at, _values(items[0]), replaces=replaces) for node in before]
    if [_values(node) for node in after] != expected:
        raise _refusal(file.path, "it would change other steps, too")


def _values(node: Node, at: tuple[int, int] | None = None, step: object = None, *, replaces: bool = False) -> object:
    """What a node has, with the step before or in place of the item of a list that begins at the line and column."""
    match node.value:
        case tuple(items):
            values: list[object] = []
            for item in items:
                is_there = (item.location.line, item.location.column) == at
                values += [step] if is_there else []
                values += [] if is_there and replaces else [_values(item, at, step, replaces=replaces)]
            return values
        case Mapping() as entries:
            return {key: _values(value, at, step, replaces=replaces) for key, value in entries.items()}
        case scalar:
            return repr(scalar), node.raw


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
