"""Runs again when flows, files that they use, or the app change."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mobiletest_cli.errors import INTERRUPTED, TERMINATED, USAGE, CliError
from mobiletest_cli.folder_search import IGNORED, is_hidden, shown
from mobiletest_cli.interruption import Interrupted, interruption
from mobiletest_cli.output import Output
from mobiletest_cli.workspace import Workspace, find_files

PAUSE_SECONDS = 0.3
# What tells one state of a file from another: time, size and inode; None for one that is missing.
_State = tuple[int, int, int] | None


class WatchedFiles:
    """The files that a run reads: those of its flows, and the app. `without` is a folder that runs write to.

    Raises:
        CliError: flows are in the folder that runs write to.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        others: Sequence[Path] = (),
        *,
        without: Path | None = None,
        find: Callable[[Sequence[Path]], Workspace] = find_files,
    ) -> None:
        self._paths = [Path(os.path.abspath(path)) for path in paths]
        self._others = [Path(os.path.abspath(path)) for path in others]
        self._without = without and Path(os.path.abspath(without))
        self._find = find
        if written := next(filter(self._is_written, self._paths), None):
            hint = "Give --artifacts another folder, such as artifacts"
            raise CliError(f"{shown(written)} is in the folder of --artifacts, so it is not watched", USAGE, hint)
        self._folders: Mapping[Path, _State] = {}
        self._files: Sequence[Path] = ()

    def read_states(self) -> Mapping[Path, _State]:
        """The states of the files now. They are listed again when one of their folders has changed."""
        if not self._folders or any(_state(folder) != state for folder, state in self._folders.items()):
            self._list()
        return {file: _state(file) for file in self._files}

    def _list(self) -> None:
        files = {path for path in self._paths if not path.is_dir()} | {*self._others}
        try:
            workspace = self._find(self._paths)
            files |= {*workspace.paths.values(), *workspace.missing}
        except Interrupted:
            raise
        except CliError:  # the run says what is wrong
            files |= set(self._files)
        self._files = sorted(file for file in files if not self._is_written(file))
        inside = (folder for path in self._paths if path.is_dir() for folder in _folders_in(path))
        folders = {*inside, *(file.parent for file in self._files)}
        self._folders = {folder: _state(folder) for folder in folders if not self._is_written(folder)}

    def _is_written(self, path: Path) -> bool:
        return self._without is not None and path.is_relative_to(self._without)


def run_on_change(
    output: Output, files: WatchedFiles, run: Callable[[], int], *, sleep: Callable[[float], None] = time.sleep
) -> int:
    """Run, and again after each change; one during a run leads to one more. `run` returns an exit code.

    Ctrl-C between two runs returns the exit code of the last one. A run that is interrupted is the last one.
    """
    while True:
        before = files.read_states()
        code = run()
        if code in (INTERRUPTED, TERMINATED):
            return code
        count = sum(state is not None for state in before.values())
        output.say(f"Waiting for a change of {count} file{'' if count == 1 else 's'}; Ctrl-C to end.")
        try:
            with interruption():
                changed = _wait_for_change(files, before, sleep)
        except Interrupted as interrupted:
            return code if interrupted.number == signal.SIGINT else interrupted.exit_code
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        output.say(f"{shown(changed[0])}{more} changed: running again.")


def _wait_for_change(
    files: WatchedFiles, before: Mapping[Path, _State], sleep: Callable[[float], None]
) -> Sequence[Path]:
    """The files that have changed, once no more do: an app is written for a while."""
    last = before
    while True:
        now = files.read_states()
        changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
        if changed and now == last:
            return changed
        last = now
        sleep(PAUSE_SECONDS)


def _state(path: Path) -> _State:
    try:
        status = path.stat()
    except (OSError, ValueError):  # a flow may name what no file is called
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _folders_in(path: Path) -> Iterator[Path]:
    for folder, inside, _ in os.walk(path):
        inside[:] = [name for name in inside if name not in IGNORED and not is_hidden([name])]
        yield Path(folder)
