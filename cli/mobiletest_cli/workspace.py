"""A folder of flows as it is sent to the server."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.flows.workspace import FLOW_ENDINGS, InvalidWorkspace, may_be_flow
from mobiletest_cli.flows.workspace import Workspace as FlowWorkspace
from mobiletest_cli.flows.workspace_config import CONFIG_FILES, CONFIG_KEYS
from mobiletest_cli.flows.workspace_files import (
    TEXT_ENDINGS,
    InvalidFiles,
    WorkspaceFiles,
    check_archive,
    check_path,
    check_totals,
)
from mobiletest_cli.folder_search import FLOW_FOLDER, FoundFiles, search, shown, unreadable

_EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of all files in archives, so that the same files are the same bytes."""
_CONFIG_KEY = re.compile(rf"^({'|'.join(CONFIG_KEYS)})\s*:", re.MULTILINE)
_MODE = (stat.S_IFREG | 0o644) << 16


class Workspace:
    """The files of a folder that belong to its flows, by the paths that they have on the server.

    `selected` are the flows to start; all if it is empty. CliError: a file cannot be read, or exceeds a limit.
    """

    def __init__(self, folder: Path, found: FoundFiles) -> None:
        self._folder = folder
        self._found = found
        with self._checked():
            for path in found.files:
                check_path(path)
            check_totals(len(found.files), sum(found.sizes.values()))
            self.files = WorkspaceFiles(found.files, self._read)
        self.selected: frozenset[str] = frozenset()

    @property
    def paths(self) -> Mapping[str, Path]:
        """The files by their paths."""
        return {self._path(name): file for name, file in self._found.files.items()}

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why files that flows may need are not sent."""
        return {self._path(name): reason for name, reason in self._found.left_out.items()}

    @cached_property
    def flow_workspace(self) -> FlowWorkspace:
        """The folder as the server reads it. InvalidWorkspace: its flows are not known."""
        return FlowWorkspace(self.files.texts, self.files.others)

    def zip(self) -> bytes:
        """The archive to send; the same files have the same bytes."""
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for path, file in sorted(self._found.files.items()):
                entry = zipfile.ZipInfo(path, _EARLIEST)
                entry.create_system = 3  # Unix, on all systems
                entry.external_attr = _MODE
                is_text = path.endswith(TEXT_ENDINGS)
                entry.compress_type = zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED
                archive.writestr(entry, _read_file(file))
        with self._checked():
            check_archive(target.tell())
        return target.getvalue()

    def text(self, path: str) -> str | None:
        """The content of a flow or a script; None if there is none, or it is no text."""
        return self.files.texts.get(path)

    def display_path(self, path: str) -> str:
        """The path of a file from the working directory, or the absolute one if it is elsewhere."""
        name = self.files.root + path
        return shown(self._found.files.get(name) or self._folder / name)

    def _path(self, name: str) -> str:
        return name.removeprefix(self.files.root)

    def _read(self, path: str, most: int) -> bytes:
        return _read_file(self._found.files[path], most)

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except InvalidFiles as problem:
            sizes = sorted(self._found.sizes.items(), key=lambda item: -item[1])
            largest = ", ".join(f"{path} ({size} bytes)" for path, size in sizes[:3])
            raise CliError(f"{shown(self._folder)}: {problem}", INVALID_FILE, f"Largest files: {largest}") from None


def find_files(paths: Sequence[Path]) -> Workspace:
    """The files to send: those of one folder, or of the folder around several paths, whose flows are selected then.

    CliError: a path or a flow is missing, a file cannot be read, or the server would refuse the files as a whole.
    """
    for path in paths:
        _check_exists(path)
    places = [Path(os.path.abspath(path)) for path in paths]
    folder = places[0] if len(places) == 1 and places[0].is_dir() else _folder_around(places)
    workspace = Workspace(folder, search(folder))
    if not any(map(may_be_flow, workspace.paths)):
        endings = " or ".join(FLOW_ENDINGS)
        raise CliError(f"{shown(folder)}: there is no flow: no file ends with {endings}", INVALID_FILE)
    if places != [folder]:
        workspace.selected = frozenset(path for place in places for path in _select(workspace, place))
    return workspace


def _check_exists(path: Path) -> None:
    if not path.exists():
        raise CliError(f"{shown(path)}: there is no such file or folder", INVALID_FILE)
    if not path.is_dir() and not may_be_flow(path.name):
        endings = " or ".join(FLOW_ENDINGS)
        raise CliError(f"{shown(path)}: is no flow: the name of a flow ends with {endings}", INVALID_FILE)


def _folder_around(places: Sequence[Path]) -> Path:
    """The folder that has all places: if one above is that of a workspace, this one, else the deepest.

    So a test has the same path in its workspace, whether its file is sent alone or with its folder.
    """
    try:
        deepest = Path(os.path.commonpath([place if place.is_dir() else place.parent for place in places]))
    except ValueError:
        raise CliError(f"{shown(places[0])}: no folder has all of these files", INVALID_FILE) from None
    for folder in (deepest, *deepest.parents):
        if folder.name == FLOW_FOLDER or any(_configures_flows(folder / name) for name in CONFIG_FILES):
            return folder
        if (folder / ".git").exists():
            break
    return deepest


def _configures_flows(file: Path) -> bool:
    """Whether a file is the configuration of a workspace, perhaps a wrong one: others have a config.yaml, too."""
    try:
        return _CONFIG_KEY.search(file.read_text("utf-8-sig")) is not None
    except (OSError, UnicodeError):
        return False


def _select(workspace: Workspace, place: Path) -> list[str]:
    """The flow at a place, or the flows in it. CliError: there is none."""
    if place.is_dir():
        inside = {path for path, file in workspace.paths.items() if file.is_relative_to(place)}
        found = [path for path in _flow_paths(workspace) if path in inside]
    else:
        found = [path for path, file in workspace.paths.items() if file == place]
    if not found:
        reason = "the folder has no flow" if place.is_dir() else "hidden files and links out of the folder are not sent"
        raise CliError(f"{shown(place)}: {reason}", INVALID_FILE)
    return found


def _flow_paths(workspace: Workspace) -> list[str]:
    """The flows of a workspace, or what may be one if its configuration is wrong, which the server says."""
    try:
        return [flow.path for flow in workspace.flow_workspace.flows()]
    except InvalidWorkspace:
        return list(filter(may_be_flow, workspace.paths))


def _read_file(file: Path, most: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise unreadable(file, error) from None
