"""A folder of flows as it is sent to the server."""

from __future__ import annotations

import io
import os
import posixpath
import re
import stat
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from mobiletest_automation.flows.subflows import SCRIPT_ENDINGS
from mobiletest_automation.flows.workspace import (
    FLOW_ENDINGS,
    FoundWorkspace,
    InvalidWorkspace,
    find_flows,
    may_be_flow,
)
from mobiletest_automation.flows.workspace import Workspace as FlowWorkspace
from mobiletest_automation.flows.workspace_config import CONFIG_FILES, CONFIG_KEYS, Remark
from mobiletest_automation.flows.workspace_files import (
    MANIFEST,
    TEXT_BYTES,
    InvalidFiles,
    Manifest,
    WorkspaceFiles,
    check_archive,
    check_path,
    check_totals,
    decode_text,
    is_text,
    normalize_path,
)
from mobiletest_automation.flows.workspace_media import FILE_BYTES
from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.folder_search import FLOW_FOLDER, FoundFiles, NamedFiles, search, shown, unreadable

# The time of all files in archives, so that the same files are the same bytes.
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_CONFIG_KEY = re.compile(rf"^({'|'.join(CONFIG_KEYS)})\s*:", re.MULTILINE | re.ASCII)
_MODE = (stat.S_IFREG | 0o644) << 16


class Workspace:
    """The files of a folder that belong to its flows, by the paths that they have on the server.

    `selected` are the flows to start; all if it is empty. Of the files beside the folder only those come along that a
    flow names, and so it is with all files if `found` is None.

    Raises:
        CliError: a file cannot be read, or exceeds a limit.
    """

    def __init__(self, folder: Path, found_files: FoundFiles | None, selected: Collection[str] = ()) -> None:
        self._folder = folder
        self._found = found_files or FoundFiles()
        with self._checked():
            self._check(self._found.sizes)
            self.files = WorkspaceFiles(self._found.files, self._read)
        self._root = folder / self.files.root
        self.selected = frozenset(selected)
        self._named = NamedFiles(self._root, self.selected, self.files.texts)

    @cached_property
    def paths(self) -> Mapping[str, Path]:
        """The files to send by their paths, of those beside the folder with leading `../`."""
        self.find_flows()
        inside = {self._path(name): file for name, file in self._found.files.items()}
        return {**self._named.found.files, **inside}

    @property
    def missing(self) -> Collection[Path]:
        """Where the flows and scripts would be that flows name and that do not exist."""
        return [Path(os.path.normpath(self._root / path)) for path in self._texts.missing]

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why files that flows may need are not sent."""
        return {self._path(name): reason for name, reason in self._found.left_out.items()}

    @property
    def found_files(self) -> Mapping[str, Path]:
        """The files of the folder itself."""
        return self._found.files

    def select(self, flows: Iterable[str]) -> Workspace:
        """The same files with these flows."""
        return Workspace(self._folder, self._found, frozenset(flows))

    @cached_property
    def flow_workspace(self) -> FlowWorkspace:
        """The folder as the server reads it.

        Raises:
            InvalidWorkspace: its flows are not known.
        """
        others = WorkspaceOthers(self.files.others, self._named, self._texts)
        return FlowWorkspace(self._texts, others, self.selected, self._named.explain)

    @cached_property
    def _flows(self) -> FoundWorkspace | InvalidWorkspace:
        try:
            return find_flows(self.flow_workspace)
        except InvalidWorkspace as invalid:
            return invalid

    def find_flows(self) -> FoundWorkspace | None:
        """The flows with their problems; None if they are not known: `invalid` says why."""
        return self._flows if isinstance(self._flows, FoundWorkspace) else None

    def find_unparsed(self) -> Sequence[Remark]:
        """The sentences of the flows that no rule parses; none if the flows are not known."""
        from mobiletest_automation.sentences.unparsed import SentenceCheck

        return find_flows(self.flow_workspace, SentenceCheck()).unparsed if self.find_flows() is not None else ()

    @property
    def invalid(self) -> InvalidWorkspace | None:
        """Why the flows are not known."""
        return self._flows if isinstance(self._flows, InvalidWorkspace) else None

    @cached_property
    def archive(self) -> bytes:
        """The archive to send, made once: what was validated is imported. The same files have the same bytes."""
        target = io.BytesIO()
        sent, manifest = self._sent()
        with zipfile.ZipFile(target, "w") as archive:
            if manifest is not None:
                archive.writestr(_entry(MANIFEST), manifest.write())
            for path, file in sorted(sent.items()):
                archive.writestr(_entry(path), _read_file(file))
        with self._checked():
            check_archive(target.tell())
        return target.getvalue()

    def _sent(self) -> tuple[Mapping[str, Path], Manifest | None]:
        """The files by their paths in the archive, and what it says of itself if they do not show it."""
        paths = self.paths
        above = max((path.split("/").count("..") for path in paths), default=0)
        if not above and not self.selected:
            return self._found.files if not self._named.found.files else paths, None
        root = "".join(f"{part}/" for part in self._root.parts[len(self._root.parts) - above :])
        files = {posixpath.normpath(root + path): file for path, file in paths.items()}
        with self._checked():
            self._check({path: file.stat().st_size for path, file in files.items()})
        return files, Manifest(root, tuple(sorted(self.selected)))

    def text(self, path: str) -> str | None:
        """The content of a flow or a script as it was first read; None if there is none, or it is no text."""
        return self._texts.get(path)

    @cached_property
    def _texts(self) -> WorkspaceTexts:
        return WorkspaceTexts(self.files.texts, self._named, self.selected)

    def display_path(self, path: str) -> str:
        """The path of a file from the working directory, or the absolute one if it is elsewhere."""
        file = self._found.files.get(self.files.root + path)
        return shown(file or Path(os.path.normpath(self._root / path)))

    def _path(self, name: str) -> str:
        return name.removeprefix(self.files.root)

    def _read(self, path: str, most: int) -> bytes:
        return _read_file(self._found.files[path], most)

    def _check(self, sizes: Mapping[str, int]) -> None:
        for path in sizes:
            check_path(path)
        check_totals(len(sizes), sum(sizes.values()))

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except InvalidFiles as problem:
            sizes = sorted(self._found.sizes.items(), key=lambda item: -item[1])
            largest = ", ".join(f"{path} ({size} bytes)" for path, size in sizes[:3])
            hint = f"Largest files: {largest}" if largest else None
            raise CliError(f"{shown(self._folder)}: {problem}", INVALID_FILE, hint) from None


class WorkspaceTexts(Mapping[str, str]):
    """The texts of a workspace: those of its folder that are known, and what its flows name."""

    def __init__(self, known: Mapping[str, str], named: NamedFiles, flows: Collection[str]) -> None:
        self._known = known
        self._named = named
        self._flows = flows
        self._read: dict[str, str | None] = {}

    def __getitem__(self, path: str) -> str:
        text = self._known.get(path)
        if text is None:
            text = self._find(path)
        if text is None:
            raise KeyError(path)
        return text

    def _find(self, path: str) -> str | None:
        if path not in self._read:
            is_wanted = path not in self._known and (is_text(path) or path in self._flows)
            file = self._named.find(path) if is_wanted else None
            self._read[path] = decode_text(_read_file(file, TEXT_BYTES + 1)) if file is not None else None
        return self._read[path]

    @property
    def missing(self) -> Collection[str]:
        """The paths that were asked for and have no text."""
        return [path for path, text in self._read.items() if text is None]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class WorkspaceOthers(Mapping[str, bytes]):
    """The files of a workspace that are no texts, like its texts."""

    def __init__(self, known: Mapping[str, bytes], named: NamedFiles, texts: WorkspaceTexts) -> None:
        self._known = known
        self._named = named
        self._texts = texts

    def __getitem__(self, path: str) -> bytes:
        if path in self._known:
            return self._known[path]
        file = self._named.find(path) if path not in self._texts else None
        if file is None:
            raise KeyError(path)
        return _read_file(file, FILE_BYTES + 1)

    def __contains__(self, path: object) -> bool:
        if path in self._known:
            return True
        return isinstance(path, str) and path not in self._texts and self._named.find(path) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def find_files(paths: Sequence[Path]) -> Workspace:
    """The files to send: those of one folder, or of the folder around several paths, whose flows are selected then.

    Raises:
        CliError: a path or a flow is missing, a file cannot be read, or the server would refuse the files as a whole.
    """
    for path in paths:
        if not path.exists():
            raise CliError(f"{shown(path)}: there is no such file or folder", INVALID_FILE)
        if path.is_file() and path.name in CONFIG_FILES:
            raise CliError(f"{shown(path)}: is not a flow: name its folder", INVALID_FILE)
        if path.is_file() and path.name.lower().endswith(SCRIPT_ENDINGS):
            raise CliError(f"{shown(path)}: is not a flow: name the flow that runs it", INVALID_FILE)
    places = [Path(os.path.abspath(path)) for path in paths]
    if len(places) == 1 and places[0].is_dir():
        workspace = Workspace(places[0], search(places[0]))
        if not any(map(may_be_flow, (*workspace.files.texts, *workspace.files.others))):
            endings = " or ".join(FLOW_ENDINGS)
            raise CliError(f"{shown(places[0])}: there is no flow: no file ends with {endings}", INVALID_FILE)
        return workspace
    folder = _folder_around(places)
    if not any(place.is_dir() for place in places):
        return Workspace(folder, None, [_named_path(folder, place) for place in places])
    workspace = Workspace(folder, search(folder))
    return workspace.select(path for place in places for path in _select(workspace, folder, place))


def _named_path(folder: Path, place: Path) -> str:
    """The path of a flow that was named. CliError: it is not to be sent."""
    path = normalize_path(place.relative_to(folder).as_posix())
    named = NamedFiles(folder, [path])
    if named.find(path) is None:
        raise CliError(f"{shown(place)}: {named.explain(path)}", INVALID_FILE)
    return path


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


def _select(workspace: Workspace, folder: Path, place: Path) -> list[str]:
    """The flow at a place, or the flows in it: as the configuration says, or else those that lie in this folder.

    CliError: there is none.
    """
    if not place.is_dir():
        return [_named_path(folder, place)]
    files = {workspace.files.manifest.path_of(name): file for name, file in workspace.found_files.items()}
    inside = {path for path, file in files.items() if file.is_relative_to(place)}
    found_workspace = workspace.find_flows()
    chosen = [flow.path for flow in found_workspace.flows if flow.path in inside] if found_workspace is not None else []
    chosen = chosen or [path for path in sorted(inside) if may_be_flow(path) and files[path].parent == place]
    if not chosen:
        raise CliError(f"{shown(place)}: the folder contains no flow", INVALID_FILE)
    return chosen


def _entry(path: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, _EARLIEST)
    entry.create_system = 3  # Unix, on all systems
    entry.external_attr = _MODE
    is_packed = is_text(path) or path == MANIFEST
    entry.compress_type = zipfile.ZIP_DEFLATED if is_packed else zipfile.ZIP_STORED
    return entry


def _read_file(file: Path, most: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise unreadable(file, error) from None
